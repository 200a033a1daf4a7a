"""Organisers read the outcome of each confirmation, and settle undecided confirmations on the page."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Role
from leaderboard.confirmations.models import Confirmation
from tests.leaderboard.confirmations.test_record_is_confirmed import overtake
from tests.leaderboard.records import confirm
from tests.web.test_pages_are_strict import check

AT = "/organise/kernels-101/confirmations"


@pytest.fixture
def held(stage) -> Confirmation:
    overtake(stage)
    return confirm(stage, told={"held": True})


def test_what_decided_nothing_is_closed_on_the_page(stage, browser, held) -> None:
    client = browser(stage.olga)
    assert b"undecided confirmations" in client.get("/organise/kernels-101").content
    page = client.get(AT)
    check(page)
    assert "5 of 5 faster, +2.00\u202f% in the median, +1.80\u202f% at the bound" in page.content.decode()
    assert b"say why" in client.post(f"{AT}/{held.pk}/close", {"reason": ""}, follow=True).content
    done = client.post(f"{AT}/{held.pk}/close", {"reason": "the host was noisy"}, follow=True).content.decode()
    assert "nothing waits for this confirmation any more" in done
    assert "by olga: the host was noisy" in done
    assert f"{AT}/{held.pk}/close" not in done
    assert client.get(f"{AT}/{held.pk}.json").json()["confirmation"]["wins"] == 5
    assert client.post(f"{AT}/{held.pk}/forget").status_code == 404


def test_who_has_a_part_in_it_reads_no_report_and_settles_nothing(stage, browser, held) -> None:
    Role.objects.create(competition=stage.board.competition, user=stage.ada, role=Role.OWNER)
    page = browser(stage.ada).get(AT).content.decode()
    assert "another reviewer decides" in page
    assert f"{AT}/{held.pk}" not in page
    assert browser(stage.ada).get(f"{AT}/{held.pk}.json").status_code == 404


def test_the_owner_of_an_agent_has_its_part_in_it(stage, browser, held) -> None:
    User.objects.filter(pk=stage.ada.pk).update(agent_of=stage.cleo)
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=Role.OWNER)
    page = browser(stage.cleo).get(AT).content.decode()
    assert "another reviewer decides" in page
    assert f"{AT}/{held.pk}" not in page
    assert browser(stage.cleo).get(f"{AT}/{held.pk}.json").status_code == 404


def test_it_is_of_this_competition_only(stage, browser, held) -> None:
    client = browser(stage.olga)
    client.post("/organise/kernels-101/clone", {"name": "Other", "slug": "other", "times": "clear"})
    assert b"No confirmations yet" in client.get("/organise/other/confirmations").content
    other = AT.replace("kernels-101", "other")
    assert client.get(f"{other}/{held.pk}.json").status_code == 404
    assert client.post(f"{other}/{held.pk}/close", {"reason": "x"}).status_code == 404


def test_queries_are_constant_in_how_many_there_are(stage, browser, held) -> None:
    client = browser(stage.olga)

    def count() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(AT).status_code == 200
        return len(captured)

    few = count()
    for ratio, who in ((0.7, stage.cleo), (0.6, stage.ben)):
        stage.judge(stage.submit(who), ratio=ratio)
        stage.later(700)
        confirm(stage, told={"held": True})
    assert Confirmation.objects.count() == 3
    assert count() == few
