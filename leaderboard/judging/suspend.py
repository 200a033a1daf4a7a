"""Take a runner out of service and put it back. A runner out of service claims nothing but may finish its work.

- Suspended: by an organiser or after losses, until a person resumes the runner.
- Set aside: its own judge found the device unfit, until its canary passes, which `hello` reports (runners.py).
- Draining: the runner finishes its work and stays idle, for an update, until its operator or an organiser lets it claim
  again. Both may ask for it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

import structlog
from django.db import transaction

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.judging import outages
from leaderboard.judging.models import Attempt, Runner
from leaderboard.judging.states import DONE, LOST

LOSSES: Final = 2  # different submissions, with none finished in between
WINDOW: Final = timedelta(hours=1)

log = structlog.get_logger(__name__)


@transaction.atomic
def suspend(*, runner: Runner, actor: User | None, reason: str, now: datetime) -> None:
    """Suspend the runner. `actor` None means that the site acts automatically."""
    check_reason(reason)
    if not Runner.objects.filter(pk=runner.pk, suspended_at=None).update(suspended_at=now, suspended_reason=reason):
        raise UserError("runner", runner.name, "is suspended already", status=409)
    record(act="suspend_runner", target=runner, actor=actor, reason=reason, now=now)
    log.error("runner_suspended", runner=runner.name, reason=reason)


@transaction.atomic
def resume(*, runner: Runner, actor: User | None, reason: str, now: datetime) -> None:
    """Resume the runner and forgive its losses until now."""
    check_reason(reason)
    there = Runner.objects.filter(pk=runner.pk, suspended_at__isnull=False)
    if not there.update(suspended_at=None, suspended_reason="", resumed_at=now):
        raise UserError("runner", runner.name, "is not suspended", status=409)
    record(act="resume_runner", target=runner, actor=actor, reason=reason, now=now)


def set_aside(*, runner: Runner, reason: str, now: datetime) -> None:
    Runner.objects.filter(pk=runner.pk).update(set_aside_at=now, set_aside_reason=reason)
    record(act="set_aside_runner", target=runner, actor=None, reason=reason, now=now)
    log.error("runner_set_aside", runner=runner.name, reason=reason)


@transaction.atomic
def set_draining(*, runner: Runner, on: bool, actor: User | None, now: datetime) -> None:
    """Start or end draining. A request for the present state changes nothing.

    `actor` None means that the runner's own host asks.
    """
    there = Runner.objects.filter(pk=runner.pk, draining_at__isnull=on)
    if not there.update(draining_at=now if on else None):
        return
    by = "the runner's host asked" if actor is None else ""
    record(act="drain_runner" if on else "undrain_runner", target=runner, actor=actor, reason=by, now=now)
    if not on:
        transaction.on_commit(lambda: broker.ring(hardware=runner.hardware, hint="resumed"))


def suspend_if_losing(*, runner: Runner, now: datetime) -> bool:
    """Suspend a runner that lost LOSSES different submissions since it last finished a submission.

    Losses during an outage of the site do not count.
    """
    runner = Runner.objects.select_for_update().get(pk=runner.pk)
    known = (now - WINDOW, runner.resumed_at, _last_finished(runner), outages.forgiven_until())
    since = max(moment for moment in known if moment is not None)
    lost = Attempt.objects.filter(runner=runner, finished_at__gt=since, state__in=(LOST, DONE), result__isnull=True)
    submissions = lost.order_by().values("submission").distinct().count()
    if runner.is_suspended or submissions < LOSSES:
        return False
    reason = f"lost {submissions} different submissions and finished none in between"
    suspend(runner=runner, actor=None, reason=reason, now=now)
    return True


def _last_finished(runner: Runner) -> datetime | None:
    last = Attempt.objects.filter(runner=runner, result__isnull=False).order_by("-finished_at").first()
    return None if last is None else last.finished_at
