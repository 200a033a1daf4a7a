"""Database time limits: an act that takes too long is rolled back, and the client gets an explanation."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client

from leaderboard.judging.models import AttemptEvent
from leaderboard.judging.runners import create_runner
from tests.leaderboard.judging.test_runner_door import Door, told
from tests.leaderboard.stage import Stage, current

SLOW_UPDATES = """
CREATE FUNCTION pf_test_slow() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(0.6); RETURN NEW; END $$;
CREATE TRIGGER pf_test_slow BEFORE UPDATE ON judging_attempt FOR EACH ROW EXECUTE FUNCTION pf_test_slow();
"""
QUICK_AGAIN = "DROP TRIGGER pf_test_slow ON judging_attempt; DROP FUNCTION pf_test_slow()"


@pytest.fixture
def door(live_stage: Stage, settings: Any) -> Door:
    settings.CLAIM_TIMEOUT_S = 1.0
    return Door(create_runner(name="rex-2", hardware="cpu", now=live_stage.now)[1])


@contextmanager
def locked(table: str, most_s: float = 10) -> Iterator[None]:
    """Hold a lock on the whole table in another transaction, for at most `most_s` seconds."""
    holds, done = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
                holds.set()
                done.wait(most_s)
        finally:
            connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert holds.wait(20)
    try:
        yield
    finally:
        done.set()
        thread.join(20)


def check_nothing_was_claimed(stage: Stage, door: Door) -> None:
    answer = door.post("claim", {"hardware": "cpu"})
    assert answer.status_code == 503
    assert "Try again" in told(answer)["detail"]
    [attempt] = stage.board.submissions.get().attempts.all()
    assert (attempt.state, attempt.runner, attempt.token) == ("queued", None, 0)
    assert [event.state for event in AttemptEvent.every.filter(attempt=attempt)] == ["queued"]


def test_claim_that_waits_for_a_lock_is_given_up_and_takes_nothing(live_stage: Stage, door: Door) -> None:
    submission = live_stage.submit()
    with locked("judging_attemptevent", most_s=4):
        check_nothing_was_claimed(live_stage, door)
    assert door.claim().attempt_id == str(current(submission).pk), "nothing is left of the claim before"


def test_claim_whose_statements_are_slow_together_takes_nothing(live_stage: Stage, door: Door) -> None:
    submission = live_stage.submit()
    with connection.cursor() as cursor:
        cursor.execute(SLOW_UPDATES)
    try:
        check_nothing_was_claimed(live_stage, door)  # two updates of 0.6 s, each within the limit
    finally:
        with connection.cursor() as cursor:
            cursor.execute(QUICK_AGAIN)
    assert door.claim().attempt_id == str(current(submission).pk)


def test_page_and_api_that_wait_for_a_lock_answer_503_with_a_sentence(live_stage: Stage) -> None:
    client = Client(raise_request_exception=False)
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = 200")
    try:
        with locked("competitions_board", most_s=4):
            page, api = client.get("/boards"), client.get("/api/v1/boards")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
    assert [page.status_code, api.status_code] == [503, 503]
    assert "then try again" in page.content.decode()
    assert "Try again" in json.loads(api.content)["detail"]
    assert page.headers["Retry-After"] == api.headers["Retry-After"] == "5"


def test_page_that_breaks_otherwise_is_still_our_fault(live_stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaderboard.web.boards.pages.render", lambda *_args, **_more: 1 / 0)
    answer = Client(raise_request_exception=False).get("/boards")
    assert answer.status_code == 500
    assert "The fault is ours" in answer.content.decode()
