"""Repair after failures: expired leases and unheard doorbells. Any number of sweepers may run at once.

A lost attempt is replaced. The third loss in a row ends the submission as our failure. The second loss ends it, too, if
it took a different runner down: then the submission kills runners. A runner that lost two different submissions is
suspended: then the host is at fault.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Count, Q
from django.db.models.functions import Now

from leaderboard import broker
from leaderboard.audit.record import record
from leaderboard.judging import events, suspend
from leaderboard.judging.models import REPLACEMENT, Attempt, Runner
from leaderboard.judging.shadow import follow
from leaderboard.judging.states import DONE, LOST, QUEUED, RUNNING, check_move
from leaderboard.judging.usage import give_back_if_ours

MAX_LOSSES: Final = 3  # the third loss in a row ends the submission as our failure
HINT: Final = "sweep"
GIVEN_UP: Final = (
    "Runners were lost while they judged this. That is our failure and does not count; an organiser was told. "
    "You may submit again"
)

log = structlog.get_logger(__name__)


def expire_leases(*, now: datetime) -> int:
    """Declare every attempt with an expired lease lost, and replace it. Return the number of lost attempts."""
    count = 0
    while _lose_one(now):
        count += 1
    return count


def ring_idle() -> int:
    """Ring for queued work, once per idle runner that could take it and has no ring waiting."""
    rung = 0
    due = Attempt.objects.filter(Q(not_before=None) | Q(not_before__lte=Now()), state=QUEUED)
    queued = due.values("hardware").annotate(waiting=Count("id"))
    for row in queued.order_by("hardware"):
        hardware = row["hardware"]
        able = Runner.objects.able().filter(hardware=hardware)
        idle = able.exclude(attempts__state__in=RUNNING).count()
        unheard = broker.rings_waiting(hardware) if idle else None
        if unheard is None:
            continue
        for _ in range(min(idle, row["waiting"]) - unheard):
            rung += broker.ring(hardware=hardware, hint=HINT)
    return rung


@transaction.atomic
def _lose_one(now: datetime) -> bool:
    attempt = (
        Attempt.objects.select_for_update(skip_locked=True, of=("self",))
        .select_related("submission__board", "runner")
        .filter(state__in=RUNNING, lease_expires_at__lte=now)
        .order_by("lease_expires_at")
        .first()
    )
    if attempt is None:
        return False
    lose(attempt, now=now)
    return True


def lose(attempt: Attempt, *, now: datetime) -> None:
    """Handle the loss of the process that held this attempt. The caller has locked the attempt."""
    log.warning("attempt_lost", attempt=attempt.pk, runner=str(attempt.runner), losses=attempt.losses + 1)
    runners = _runners_lost(attempt)
    if attempt.losses + 1 >= MAX_LOSSES:
        _give_up(attempt, now, reason="runner_lost", why=f"lost {MAX_LOSSES} runners in a row")
    elif runners > 1:
        _give_up(attempt, now, reason="set_aside", why=f"took down {runners} different runners")
    else:
        _replace(attempt, now)
    if attempt.runner is not None:
        suspend.suspend_if_losing(runner=attempt.runner, now=now)
    give_back_if_ours(attempt, now=now)  # locks the account, after the runner like a report


def _runners_lost(attempt: Attempt) -> int:
    """Return the number of different runners of this attempt and the lost attempts directly before it."""
    row = Attempt.objects.of_line(attempt).filter(number__gte=attempt.number - attempt.losses)
    return row.order_by().values("runner").distinct().count()


def _replace(attempt: Attempt, now: datetime) -> None:
    check_move(attempt.state, LOST)
    attempt.state, attempt.finished_at = LOST, now
    attempt.save(update_fields=["state", "finished_at"])
    events.append_state(attempt, now=now, message="The runner stopped answering; another try follows")
    follow(attempt, now=now, cause=REPLACEMENT, losses=attempt.losses + 1, message="Queued again, in its old place")


def _give_up(attempt: Attempt, now: datetime, *, reason: str, why: str) -> None:
    """End the submission as our failure, never as "wrong"."""
    check_move(attempt.state, DONE)
    attempt.state, attempt.outcome, attempt.reason, attempt.finished_at = DONE, "infra_error", reason, now
    attempt.save(update_fields=["state", "outcome", "reason", "finished_at"])
    events.append_state(attempt, now=now, message=GIVEN_UP, data={"outcome": "infra_error", "reason": reason})
    record(
        act="give_up_attempt",
        target=attempt,
        actor=None,
        reason=f"{why}, the last was {attempt.runner}",
        now=now,
        after={"outcome": "infra_error", "submission": attempt.submission_id},
    )
    log.error("attempt_given_up", attempt=attempt.pk, submission=attempt.submission_id, why=why)
