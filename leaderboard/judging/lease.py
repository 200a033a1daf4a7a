"""Leases of attempts: lock an attempt for the runner that has it, renew the lease, or hand the attempt back.

A runner's messages count only while its fencing token is the attempt's and the attempt runs before its hard deadline.
An expired lease has no effect until a sweep; until then the runner may renew it. So an outage of the site costs no work
unless a sweep expired the lease.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction

from leaderboard.errors import StaleLease
from leaderboard.judging import events
from leaderboard.judging.enqueue import ring_for
from leaderboard.judging.models import Attempt, Runner
from leaderboard.judging.shadow import call_off
from leaderboard.judging.states import CANCELLED, QUEUED, check_move

RELEASED: Final = "The machine that judged this is being restarted; it is queued again, in its old place"

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Renewal:
    expires_in_s: float
    cancel: bool


def lock(*, attempt_id: int, runner: Runner, token: int) -> Attempt:
    """Return the attempt that this runner claimed under this token, locked until the transaction ends."""
    attempt = Attempt.objects.select_for_update().filter(pk=attempt_id, runner=runner, token=token).first()
    if attempt is None:
        raise StaleLease(f"attempt {attempt_id} is not this runner's under token {token}")
    return attempt


def check_live(attempt: Attempt, *, now: datetime) -> datetime:
    """Return the future hard deadline of the claim. Raise StaleLease if the attempt is not live."""
    if not attempt.is_running:
        raise StaleLease(f"attempt {attempt.pk} is {attempt.state}")
    if attempt.hard_deadline_at is None or attempt.hard_deadline_at <= now:
        raise StaleLease(f"attempt {attempt.pk} reached the hard deadline of its claim")
    return attempt.hard_deadline_at


@transaction.atomic
def renew(*, attempt_id: int, runner: Runner, token: int, now: datetime) -> Renewal:
    """Prolong the lease, never past the hard deadline of the claim. The renewal of a cancelled attempt reports that."""
    attempt = lock(attempt_id=attempt_id, runner=runner, token=token)
    if attempt.state == CANCELLED:
        return Renewal(expires_in_s=0.0, cancel=True)
    deadline = check_live(attempt, now=now)
    attempt.lease_expires_at = min(now + timedelta(seconds=settings.LEASE_S), deadline)
    attempt.save(update_fields=["lease_expires_at"])
    Runner.objects.filter(pk=runner.pk).update(last_seen_at=now)
    return Renewal(expires_in_s=(attempt.lease_expires_at - now).total_seconds(), cancel=False)


@transaction.atomic
def release(*, attempt_id: int, runner: Runner, token: int, now: datetime) -> None:
    """Queue the attempt again for a runner that ends before it is done. No loss is counted."""
    attempt = lock(attempt_id=attempt_id, runner=runner, token=token)
    check_live(attempt, now=now)
    hand_back(attempt, now=now, message=RELEASED)


def hand_back(attempt: Attempt, *, now: datetime, message: str) -> None:
    """Queue an attempt again that the caller has locked. It keeps its place, which depends on its submission."""
    log.info("attempt_handed_back", attempt=attempt.pk, runner=str(attempt.runner))
    if attempt.rejudge_set is not None and attempt.is_shadow and attempt.rejudge_set.stopped_at is not None:
        call_off([attempt], now=now, message="Called off with its re-judging set")
        return
    check_move(attempt.state, QUEUED)
    attempt.state, attempt.runner, attempt.token = QUEUED, None, 0
    attempt.lease_expires_at = attempt.hard_deadline_at = attempt.claimed_at = None
    attempt.save(update_fields=["state", "runner", "token", "lease_expires_at", "hard_deadline_at", "claimed_at"])
    events.append_state(attempt, now=now, message=message)
    transaction.on_commit(lambda: ring_for(attempt))
