"""Progress events of a runner: stored in order, each once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.db import transaction

from leaderboard.errors import IllegalMove, UserError
from leaderboard.judging import events, lease
from leaderboard.judging.models import AttemptEvent, Runner
from leaderboard.judging.states import check_move
from runner.wire import Event

MAX_EVENTS: Final = 10_000  # per claim


@transaction.atomic
def announce(*, attempt_id: int, runner: Runner, token: int, announced: Sequence[Event], now: datetime) -> int:
    """Append the new events and return their number; an event with a known `seq` is dropped."""
    attempt = lease.lock(attempt_id=attempt_id, runner=runner, token=token)
    lease.check_live(attempt, now=now)
    numbers = [event.seq for event in announced]
    same_claim = AttemptEvent.every.filter(attempt=attempt, token=token)
    known = set(same_claim.filter(seq__in=numbers).values_list("seq", flat=True))
    fresh = {event.seq: event for event in announced if event.seq not in known}
    began, rows = attempt.state, []
    for seq, event in sorted(fresh.items()):
        if seq > MAX_EVENTS:
            raise UserError("events.seq", seq, f"an attempt has at most {MAX_EVENTS} events")
        if event.kind == "state":
            try:
                check_move(attempt.state, event.state)
            except IllegalMove as error:
                raise UserError("events.state", event.state, str(error)) from None
            attempt.state = event.state
        rows.append((event, attempt.state))
    if attempt.state != began:
        attempt.save(update_fields=["state"])
    return events.append_announced(attempt, rows, now=now)
