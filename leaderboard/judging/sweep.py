"""Repair after failures: expired leases and unheard doorbells. Any number of sweepers may run at once.

A lost attempt is replaced. The third loss in a row ends the submission as our failure. The second loss ends it, too, if
it took a different runner down: then the submission kills runners. A runner that lost two different submissions is
suspended: then the host is at fault. Requested work is queued again; its third loss ends it without a decision.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Final

import structlog
from django.db import transaction
from django.db.models import Count, Q
from django.db.models.functions import Now

from leaderboard import broker
from leaderboard.audit.record import record
from leaderboard.judging.attempts import follow
from leaderboard.judging.faults import give_back_if_ours
from leaderboard.judging.lease import end, finish, kinds, requeue, rows, running
from leaderboard.judging.models import REPLACEMENT, Attempt, Runner
from leaderboard.judging.runners import suspend_if_losing
from leaderboard.judging.work import DONE, ERROR, LOST, QUEUED, RUNNING, Leased, Requested
from leaderboard.operations.notices import tell_operators

MAX_LOSSES: Final = 3  # in a row
HINT: Final = "sweep"
GIVEN_UP: Final = (
    "Runners were lost while they judged this. That is our failure and does not count; an organiser was told. "
    "You may submit again"
)
UNFINISHABLE: Final = "No runner could finish this {noun}: {why}. Ask again, or see the runners' page"

log = structlog.get_logger(__name__)


def expire_leases(*, now: datetime) -> int:
    """Declare all work with an expired lease lost. Return its number."""
    count = 0
    for kind in kinds():
        while _lose_one(kind, now):
            count += 1
    return count


@transaction.atomic
def _lose_one(kind: type[Leased], now: datetime) -> bool:
    expired = running(kind).select_for_update(skip_locked=True, of=("self",)).filter(lease_expires_at__lte=now)
    work = expired.order_by("lease_expires_at").first()
    if work is not None:
        lose(work, now=now, why="its runner stopped answering")
    return work is not None


def ring_idle() -> int:
    """Ring for queued work, once per idle runner that could take it and has no ring waiting."""
    waiting: Counter[str] = Counter()
    for kind in kinds():
        queued = rows(kind).filter(state=QUEUED)
        if kind is Attempt:
            queued = queued.filter(Q(not_before=None) | Q(not_before__lte=Now()))
        waiting.update(dict(queued.values_list("hardware").annotate(Count("pk"))))
    rung = 0
    for hardware, number in sorted(waiting.items()):
        able = Runner.objects.able().filter(hardware=hardware)
        idle = able.exclude(attempts__state__in=RUNNING).count()
        unheard = broker.rings_waiting(hardware) if idle else None
        if unheard is None:
            continue
        for _ in range(min(idle, number) - unheard):
            rung += broker.ring(hardware=hardware, hint=HINT)
    return rung


def lose(work: Leased, *, now: datetime, why: str) -> None:
    """Handle the loss of the process that held this work. The caller has locked the work."""
    if isinstance(work, Requested):
        return give_back(work, why=why, now=now)
    assert isinstance(work, Attempt)
    log.warning("attempt_lost", attempt=work.pk, runner=str(work.runner), losses=work.losses + 1)
    tries = Attempt.objects.of_line(work).filter(number__gte=work.number - work.losses)
    runners = tries.order_by().values("runner").distinct().count()
    if work.losses + 1 >= MAX_LOSSES:
        _give_up(work, now, reason="runner_lost", why=f"lost {MAX_LOSSES} runners in a row")
    elif runners > 1:
        _give_up(work, now, reason="set_aside", why=f"took down {runners} different runners")
    else:
        end(work, LOST, message="The runner stopped answering; another try follows", now=now)
        follow(work, now=now, cause=REPLACEMENT, losses=work.losses + 1, message="Queued again, in its old place")
    if work.runner is not None:
        suspend_if_losing(runner=work.runner, now=now)
    give_back_if_ours(work, now=now)  # locks the account, after the runner like a report


def give_back(work: Requested, *, why: str, now: datetime) -> None:
    """Queue requested work again after a loss, or end it without a decision. The caller holds the row."""
    log.warning("requested_work_lost", work=work.attempt_id, runner=work.runner_id, why=why)
    work.losses += 1
    if work.losses >= MAX_LOSSES:
        finish(work, ERROR, UNFINISHABLE.format(noun=work.NOUN, why=why.rstrip(".")), now)
        tell_operators("requested_work_given_up", work.message, subject=work.attempt_id, now=now)
    else:
        requeue(work)


def _give_up(attempt: Attempt, now: datetime, *, reason: str, why: str) -> None:
    """End the submission as our failure, never as "wrong"."""
    end(attempt, DONE, message=GIVEN_UP, now=now, outcome="infra_error", reason=reason)
    after = {"outcome": "infra_error", "submission": attempt.submission_id}
    why_given_up = f"{why}, the last was {attempt.runner}"
    record(act="give_up_attempt", target=attempt, actor=None, reason=why_given_up, now=now, after=after)
    text = f"Submission {attempt.submission_id} {why_given_up}."
    tell_operators("attempt_given_up", text, subject=f"attempt {attempt.pk}", now=now)
