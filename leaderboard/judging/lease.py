"""Hold a lease: lock an attempt for the runner that has it, and renew.

A runner's word counts only while its fencing token is the attempt's, the attempt runs and the lease has not expired.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from leaderboard.errors import StaleLease
from leaderboard.judging.models import Attempt, Runner
from leaderboard.judging.states import CANCELLED


@dataclass(frozen=True)
class Renewal:
    expires_in_s: float
    cancel: bool


def lock(*, attempt_id: int, runner: Runner, token: int) -> Attempt:
    """The attempt that this runner once claimed under this token, locked until the transaction ends."""
    attempt = Attempt.objects.select_for_update().filter(pk=attempt_id, runner=runner, token=token).first()
    if attempt is None:
        raise StaleLease(f"attempt {attempt_id} is not this runner's under token {token}")
    return attempt


def check_live(attempt: Attempt, *, now: datetime) -> None:
    if not attempt.is_running:
        raise StaleLease(f"attempt {attempt.pk} is {attempt.state}")
    if attempt.lease_expires_at is None or attempt.lease_expires_at <= now:
        raise StaleLease(f"the lease of attempt {attempt.pk} expired at {attempt.lease_expires_at}")


@transaction.atomic
def renew(*, attempt_id: int, runner: Runner, token: int, now: datetime) -> Renewal:
    """Prolong the lease, never past the hard deadline of the claim. A cancelled attempt says so here."""
    attempt = lock(attempt_id=attempt_id, runner=runner, token=token)
    if attempt.state == CANCELLED:
        return Renewal(expires_in_s=0.0, cancel=True)
    check_live(attempt, now=now)
    if attempt.hard_deadline_at is None or attempt.hard_deadline_at <= now:
        raise StaleLease(f"attempt {attempt_id} reached the hard deadline of its claim")
    attempt.lease_expires_at = min(now + timedelta(seconds=settings.LEASE_S), attempt.hard_deadline_at)
    attempt.save(update_fields=["lease_expires_at"])
    Runner.objects.filter(pk=runner.pk).update(last_seen_at=now)
    return Renewal(expires_in_s=(attempt.lease_expires_at - now).total_seconds(), cancel=False)
