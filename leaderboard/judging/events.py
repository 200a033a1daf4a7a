"""Append events: the only writer of AttemptEvent.

Call these functions with the attempt's row locked (select_for_update, or updated in this transaction). The lock makes
the ids of a submission grow in the order in which they become visible, so that a stream may resume after the last id it
saw. PostgreSQL delivers the notification only when the transaction commits. Events of a shadow attempt are stored and
marked, and wake no watcher.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection

from leaderboard.judging.models import Attempt, AttemptEvent
from runner.wire import Event

BATCH: Final = 500  # rows per statement
CHANNEL: Final = "attempt_events"  # payload: the submission's id


def append_state(attempt: Attempt, *, now: datetime, message: str = "", data: dict[str, Any] | None = None) -> None:
    """Append an event for the attempt's new state."""
    AttemptEvent.objects.create(
        submission_id=attempt.submission_id,
        attempt=attempt,
        kind=AttemptEvent.STATE,
        state=attempt.state,
        message=message,
        data=data or {},
        in_shadow=attempt.is_shadow,
        created_at=now,
    )
    _notify(attempt)


def append_progress(attempt: Attempt, *, now: datetime, message: str) -> None:
    """Append a message of the site while the state stays."""
    AttemptEvent.objects.create(
        submission_id=attempt.submission_id,
        attempt=attempt,
        kind=AttemptEvent.PROGRESS,
        state=attempt.state,
        message=message,
        in_shadow=attempt.is_shadow,
        created_at=now,
    )
    _notify(attempt)


def append_announced(attempt: Attempt, announced: Iterable[tuple[Event, str]], *, now: datetime) -> int:
    """Append events of the runner, each with the attempt's state from that event on; return their number."""
    rows = [
        AttemptEvent(
            submission_id=attempt.submission_id,
            attempt=attempt,
            token=attempt.token,
            seq=event.seq,
            kind=event.kind,
            state=state,
            message=event.message,
            data=event.data,
            in_shadow=attempt.is_shadow,
            created_at=now,
        )
        for event, state in announced
    ]
    if rows:
        AttemptEvent.objects.bulk_create(rows)
        _notify(attempt)
    return len(rows)


def append_states(attempts: Sequence[Attempt], *, now: datetime, message: str) -> None:
    """Append an event for the new state of many attempts at once."""
    rows = [
        AttemptEvent(
            submission_id=attempt.submission_id,
            attempt=attempt,
            kind=AttemptEvent.STATE,
            state=attempt.state,
            message=message,
            data={"outcome": attempt.outcome, "reason": attempt.reason} if attempt.outcome else {},
            in_shadow=attempt.is_shadow,
            created_at=now,
        )
        for attempt in attempts
    ]
    AttemptEvent.every.bulk_create(rows, batch_size=BATCH)
    _notify_all(attempts)


def _notify(attempt: Attempt) -> None:
    _notify_all([attempt])


def _notify_all(attempts: Iterable[Attempt]) -> None:
    told = [str(attempt.submission_id) for attempt in attempts if not attempt.is_shadow]
    if told:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, submission) FROM unnest(%s::text[]) AS submission", [CHANNEL, told])
