"""Events reach LISTEN connections when their transaction commits, and never after a rollback."""

import psycopg
from django.db import connection, transaction

from leaderboard.judging.attempts import CHANNEL
from tests.leaderboard.stage import Stage


def heard(listener: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    return [notice.payload for notice in listener.notifies(timeout=0.5)]


def test_a_watcher_hears_the_submissions_id_on_commit(live_stage: Stage) -> None:
    with psycopg.connect(**connection.get_connection_params() | {"cursor_factory": None}, autocommit=True) as listener:
        listener.execute(f"LISTEN {CHANNEL}")
        with transaction.atomic():
            live_stage.submit()
            transaction.set_rollback(True)
        assert heard(listener) == []
        submission = live_stage.submit()
        assert heard(listener) == [str(submission.pk)]
        live_stage.judge(submission)
        assert set(heard(listener)) == {str(submission.pk)}


def test_ids_of_a_submissions_events_grow_in_order(live_stage: Stage) -> None:
    submission = live_stage.submit()
    live_stage.judge(submission)
    assert [event.state for event in submission.events.order_by("id")] == ["queued", "claimed", "done"]
