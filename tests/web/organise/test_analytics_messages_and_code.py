"""Organisers' analytics, the pages of messages and of deleting, and the export of code."""

from __future__ import annotations

import json

import pytest
import time_machine
from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext

from leaderboard.audit.models import Row
from leaderboard.competitions.models import Competition, Role
from leaderboard.submissions.models import Takedown
from leaderboard.web.organise import analytics
from tests.leaderboard.stage import NOON, SOURCE, make_board

BASE = "/organise/kernels-101"


def role(stage, name: str):
    Role.objects.create(competition=stage.board.competition, user=stage.cleo, role=name)
    return stage.cleo


def text_of(answer) -> str:
    async def joined(stream) -> str:
        return b"".join([piece async for piece in stream]).decode()

    assert answer.status_code == 200
    return async_to_sync(joined)(answer.streaming_content)


def test_analytics_count_days_steps_and_reasons(stage) -> None:
    stage.judge(stage.submit(stage.ada), ratio=0.8)
    stage.judge(stage.submit(stage.ben, mode="test"), outcome="wrong", reason="mismatch")
    competition = stage.board.competition
    found = analytics.days(competition, NOON)
    assert len(found) == analytics.DAYS
    assert (found[-1].date, found[-1].total, found[0].total) == (NOON.date(), 2, 0)
    assert [step["count"] for step in analytics.funnel(competition)] == [2, 2, 1, 1, 1]
    [failure] = analytics.failures(competition, NOON)
    assert (failure["title"], failure["reason"], failure["count"]) == ("Wrong result", "mismatch", 1)


def test_analytics_are_for_organisers_and_ask_as_many_queries_for_many_boards(stage, browser) -> None:
    viewer = browser(role(stage, Role.VIEWER))
    assert browser(stage.ada).get(f"{BASE}/analytics").status_code == 404
    stage.judge(stage.submit())

    def queries() -> int:
        with CaptureQueriesContext(connection) as asked:
            page = viewer.get(f"{BASE}/analytics")
        assert page.status_code == 200
        sql = [query["sql"] for query in asked if "competitions_role" not in query["sql"]]
        assert len(sql) == len(set(sql))
        return len(sql)

    with time_machine.travel(NOON, tick=False):
        few = queries()
        for name in ("sort", "scan"):
            stage.judge(stage.submit(board=make_board(name)))
        assert queries() == few
        assert "Sent a ranked submission" in viewer.get(f"{BASE}/analytics").content.decode()


def test_owners_export_code_and_the_export_is_on_record(stage, browser) -> None:
    kept, taken = stage.submit(), stage.submit()
    Takedown.objects.create(submission=taken, reason="a licence", created_at=NOON)
    client = browser(role(stage, Role.OWNER))
    rows = json.loads(text_of(client.get(f"{BASE}/exports/code.json")))
    assert [row["submission"] for row in rows] == [kept.pk]
    assert rows[0]["source"].startswith(SOURCE.decode())
    assert Row.objects.filter(act="export_code", actor=stage.cleo).count() == 1
    assert "Code as json" in client.get(f"{BASE}/exports").content.decode()


@pytest.mark.parametrize("name", [Role.VIEWER, Role.REVIEWER])
def test_others_than_owners_export_no_code(stage, browser, name: str) -> None:
    client = browser(role(stage, name))
    assert client.get(f"{BASE}/exports/code.json").status_code == 403
    assert "Code as JSON" not in client.get(f"{BASE}/exports").content.decode()


def test_a_message_without_recipients_is_refused_on_its_page(stage, browser, settings) -> None:
    settings.MAIL_URL = "smtp://mail.example"
    client = browser(role(stage, Role.OWNER))
    assert "everybody who entered 0," in client.get(f"{BASE}/message").content.decode()
    answer = client.post(f"{BASE}/message", {"group": "all", "subject": "Rooms", "text": "At nine."})
    assert answer.status_code == 400
    assert "Nobody of them has a confirmed address" in answer.content.decode()


def test_an_owner_deletes_a_competition_that_nobody_entered(stage, browser) -> None:
    client = browser(role(stage, Role.OWNER))
    assert client.get(f"{BASE}/delete").status_code == 200
    assert client.post(f"{BASE}/delete", {"slug": "kernels", "reason": "x"}).status_code == 400
    assert client.post(f"{BASE}/delete", {"slug": "kernels-101", "reason": "a mistake"})["Location"] == "/organise"
    assert not Competition.objects.filter(slug="kernels-101").exists()


def test_a_competition_with_entrants_offers_no_deletion(stage, browser) -> None:
    stage.submit()
    page = browser(role(stage, Role.OWNER)).get(f"{BASE}/delete").content.decode()
    assert "so this competition stays" in page
    assert "Delete Kernels 101" not in page
