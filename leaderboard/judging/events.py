"""Append events: the only writer of AttemptEvent.

Call these functions with the attempt's row locked (select_for_update, or updated in this transaction). The lock makes
the ids of a submission grow in the order in which they become visible, so that a stream may resume after the last id it
saw. PostgreSQL delivers the notification only when the transaction commits. Events of a shadow attempt are stored and
marked, and wake no watcher.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from django.db import connection

from leaderboard.errors import UserError
from leaderboard.judging.models import Attempt, AttemptEvent
from runner.wire import Event

BATCH: Final = 500  # rows per statement
CHANNEL: Final = "attempt_events"  # payload: the submission's id
MAX_DEPTH: Final = 32  # of JSON from a runner
MAX_WHOLE: Final = 2**63
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def append_state(attempt: Attempt, *, now: datetime, message: str) -> None:
    """Append an event for the attempt's new state."""
    append_states([attempt], now=now, message=message)


def append_states(attempts: Sequence[Attempt], *, now: datetime, message: str) -> None:
    """Append an event for the new state of many attempts at once, with the outcome of those that have one."""
    rows = []
    for attempt in attempts:
        data = {"outcome": attempt.outcome, "reason": attempt.reason} if attempt.outcome else {}
        rows.append(_event(attempt, now, kind=AttemptEvent.STATE, message=message, data=data))
    _append(rows)


def append_progress(attempt: Attempt, *, now: datetime, message: str) -> None:
    """Append a message of the site while the state stays."""
    _append([_event(attempt, now, kind=AttemptEvent.PROGRESS, message=message)])


def append_announced(attempt: Attempt, announced: Iterable[tuple[Event, str]], *, now: datetime) -> int:
    """Append events of the runner, each with the attempt's state from that event on; return their number."""
    rows = []
    for event, state in announced:
        told = {"seq": event.seq, "kind": event.kind, "message": event.message, "data": event.data}
        rows.append(_event(attempt, now, token=attempt.token, state=state, **told))
    _append(rows)
    return len(rows)


def _event(attempt: Attempt, now: datetime, **told: Any) -> AttemptEvent:
    known = {"state": attempt.state, "in_shadow": attempt.is_shadow, "created_at": now}
    return AttemptEvent(submission_id=attempt.submission_id, attempt=attempt, **(known | told))


def _append(rows: list[AttemptEvent]) -> None:
    AttemptEvent.every.bulk_create(rows, batch_size=BATCH)
    watched = [str(event.submission_id) for event in rows if not event.in_shadow]
    if watched:
        notify = "SELECT pg_notify(%s, submission) FROM unnest(%s::text[]) AS submission"
        with connection.cursor() as cursor:
            cursor.execute(notify, [CHANNEL, watched])


def check_storable(value: Any, field: str, depth: int = 0) -> None:
    """Refuse JSON that PostgreSQL cannot store, although Python can read it.

    Raise UserError with the place of the value, for example `report.cases[2].message`.
    """
    if depth > MAX_DEPTH:
        raise UserError(field, None, f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, str) and _UNSTORABLE.search(value):
        raise UserError(field, None, "has a NUL character or half of a surrogate pair")
    if isinstance(value, float) and not math.isfinite(value):
        raise UserError(field, None, "not a finite number")
    if isinstance(value, int) and abs(value) >= MAX_WHOLE:
        raise UserError(field, None, "a whole number beyond 64 bits")
    if isinstance(value, dict):
        for key, item in value.items():
            check_storable(key, f"{field}: a key", depth)
            check_storable(item, f"{field}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_storable(item, f"{field}[{index}]", depth + 1)
