"""Owners freeze, reveal and end a standing on its page, which offers the possible acts and refuses the rest."""

from datetime import timedelta

import pytest
from django.utils import timezone

from leaderboard.competitions.models import Competition, Role
from tests.web.test_pages_are_strict import check

ADDRESS = "/organise/kernels-101/standing"
HOUR = timedelta(hours=1)
WHY = {"reason": "As the rules said."}


@pytest.fixture
def owner(stage, browser):
    Role.objects.create(competition=stage.board.competition, user=stage.ada, role=Role.OWNER)
    return browser(stage.ada)


def move(stage, **times) -> Competition:
    Competition.objects.filter(pk=stage.board.competition_id).update(**times)
    return Competition.objects.get(pk=stage.board.competition_id)


def offered(client) -> set[str]:
    page = client.get(ADDRESS)
    check(page)
    text = page.content.decode()
    return {name for name in ("freeze", "unfreeze", "reveal", "finalise", "reopen") if f'"act-{name}"' in text}


def test_it_goes_from_contest_to_final_and_back(stage, owner) -> None:
    now = timezone.now()
    move(stage, contest_at=now - HOUR, deadline=now + HOUR)
    assert offered(owner) == {"freeze"}
    owner.post(f"{ADDRESS}/freeze", WHY)
    assert offered(owner) == {"unfreeze"}
    move(stage, contest_at=now - 3 * HOUR, freeze_at=now - 2 * HOUR, deadline=now - HOUR)
    assert offered(owner) == {"reveal", "finalise"}
    owner.post(f"{ADDRESS}/reveal", WHY)
    assert offered(owner) == {"finalise"}
    owner.post(f"{ADDRESS}/finalise", WHY)
    assert move(stage).final_at is not None
    assert offered(owner) == {"reopen"}
    owner.post(f"{ADDRESS}/reopen", WHY)
    assert move(stage).final_at is None


def test_a_reason_is_asked_and_what_waits_is_told(stage, owner) -> None:
    now = timezone.now()
    stage.now = now - 2 * HOUR
    stage.submit(stage.ben)
    move(stage, deadline=now - HOUR)
    mute = owner.post(f"{ADDRESS}/finalise", {"reason": " "})
    assert 'id="finalise_reason_error">Enter a reason.' in mute.content.decode()
    early = owner.post(f"{ADDRESS}/finalise", WHY)
    assert "1 not judged yet; settle that first" in early.content.decode()
    assert move(stage).final_at is None
    owner.post(f"{ADDRESS}/finalise", WHY | {"anyway": "on"})
    assert move(stage).final_at is not None


def test_what_is_not_possible_is_refused_in_words(stage, owner) -> None:
    answer = owner.post(f"{ADDRESS}/freeze", WHY)
    assert answer.status_code == 302, "a competition without times is in its contest"
    move(stage, freeze_at=None, practice_at=timezone.now() + HOUR)
    answer = owner.post(f"{ADDRESS}/freeze", WHY)
    assert b"nothing to freeze" in answer.content
    assert owner.post(f"{ADDRESS}/nothing", WHY).status_code == 404


def test_a_reviewer_reads_only(stage, browser) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.ben, role=Role.REVIEWER)
    client = browser(stage.ben)
    assert offered(client) == {"freeze", "finalise"}
    assert client.post(f"{ADDRESS}/freeze", WHY).status_code == 403
