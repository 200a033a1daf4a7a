"""A preview shows the real pages with lesser rights, for a limited time, and sends no forms."""

from datetime import timedelta

import pytest
import time_machine
from django.core import signing
from django.utils import timezone

from leaderboard.competitions.models import Competition, Role
from leaderboard.web import preview


def begin(client, viewer: str) -> None:
    assert client.post("/organise/kernels-101/preview", {"viewer": viewer}).status_code == 302


@pytest.mark.parametrize("viewer", ["stranger", "competitor"])
def test_the_organiser_sees_what_they_see(stage, browser, viewer) -> None:
    pk = stage.submit().pk
    client = browser(stage.olga)
    begin(client, viewer)
    assert b"You see the site as" in client.get("/boards").content
    hidden = ("/organise", "/organise/kernels-101", f"/submissions/{pk}", "/runners", "/sets", "/review")
    for address in hidden:
        assert client.get(address).status_code == (302 if viewer == "stranger" else 404), address
    expected = {"stranger": 401, "competitor": 404}[viewer]
    assert client.get(f"/api/v1/submissions/{pk}").status_code == expected
    assert client.get(f"/api/v1/submissions/{pk}/events").status_code == expected


def test_a_competitor_sees_their_own_pages_empty(stage, browser) -> None:
    stage.submit(stage.olga)
    client = browser(stage.olga)
    begin(client, "competitor")
    assert b"You have sent nothing yet" in client.get("/submissions").content
    assert client.get("/tokens").status_code == 200
    assert client.get("/boards/softmax/submit").status_code == 200


@pytest.mark.parametrize(
    "address", ["/boards/softmax/submit", "/tokens", "/organise/new", "/sign-out", "/api/v1/submissions"]
)
def test_nothing_is_sent(stage, browser, address) -> None:
    client = browser(stage.olga)
    begin(client, "competitor")
    answer = client.post(address, {"name": "x", "scopes": ["read"]})
    assert answer.status_code == 403
    assert b"You cannot send forms during a preview" in answer.content
    assert not stage.olga.tokens.exists()


def test_there_is_a_way_back(stage, browser) -> None:
    client = browser(stage.olga)
    begin(client, "stranger")
    assert client.post("/preview/leave")["Location"] == "/organise/kernels-101"
    assert client.get("/organise/kernels-101").status_code == 200
    assert client.post("/preview/leave")["Location"] == "/"


def test_it_ends_by_itself(stage, browser) -> None:
    client = browser(stage.olga)
    begin(client, "stranger")
    with time_machine.travel(timezone.now() + timedelta(seconds=preview.LASTS_S + 60)):
        assert client.get("/organise/kernels-101").status_code == 200


def test_it_never_raises_rights(stage, browser) -> None:
    """A session value that a stranger could plant grants lesser rights or none."""
    client = browser(stage.cleo)
    assert client.post("/organise/kernels-101/preview", {"viewer": "stranger"}).status_code == 404
    for told in (
        {"user": stage.cleo.pk, "viewer": "administrator", "slug": "kernels-101", "competition": 1},
        {"user": stage.olga.pk, "viewer": "competitor", "slug": "kernels-101", "competition": 1},
    ):
        session = client.session
        session[preview.KEY] = signing.dumps(told, salt=preview.SALT)
        session.save()
        assert client.get("/organise").status_code == 404
        assert client.get("/submissions").status_code == 200
    session[preview.KEY] = "forged"
    session.save()
    assert client.get("/organise").status_code == 404


def test_a_viewer_may_preview_and_nobody_as_an_organiser(stage, browser) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.VIEWER)
    client = browser(stage.ben)
    assert client.post("/organise/kernels-101/preview", {"viewer": "owner"}).status_code == 404
    begin(client, "stranger")
    assert client.get("/organise/kernels-101").status_code == 302


def test_a_closed_competition_is_there_for_a_competitor_and_not_for_a_stranger(stage, browser) -> None:
    stage.board.competition.visibility = "closed"
    stage.board.competition.save()
    client = browser(stage.olga)
    for viewer, status in (("stranger", 404), ("competitor", 200)):
        begin(client, viewer)
        assert client.get("/competitions/kernels-101").status_code == status
        assert client.get("/boards/softmax").status_code == status
        client.post("/preview/leave")


def test_it_ends_with_the_role(stage, browser) -> None:
    """Without this rule, a former role holder would continue to read a closed competition."""
    role = Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.VIEWER)
    client = browser(stage.ben)
    begin(client, "competitor")
    Competition.objects.update(visibility="closed")
    assert client.get("/competitions/kernels-101").status_code == 200
    role.delete()
    assert client.get("/competitions/kernels-101").status_code == 404
