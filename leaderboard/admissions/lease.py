"""Hold a test's lease: the same rules as an attempt's (judging/lease.py)."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction

from leaderboard.admissions.models import RUNNING, AdmissionTest
from leaderboard.errors import StaleLease
from leaderboard.judging.lease import Renewal
from leaderboard.judging.models import Runner


def lock(*, pk: int, runner: Runner, token: int) -> AdmissionTest:
    """The test that this runner once claimed under this token, locked until the transaction ends."""
    test = AdmissionTest.objects.select_for_update().filter(pk=pk, runner=runner, token=token).first()
    if test is None:
        raise StaleLease(f"admission test {pk} is not this runner's under token {token}")
    return test


def check_live(test: AdmissionTest, *, now: datetime) -> None:
    if test.state != RUNNING:
        raise StaleLease(f"{test} runs no more")
    if test.lease_expires_at is None or test.lease_expires_at <= now:
        raise StaleLease(f"the lease of {test} expired at {test.lease_expires_at}")


@transaction.atomic
def check_held(*, pk: int, runner: Runner, token: int, now: datetime) -> None:
    check_live(lock(pk=pk, runner=runner, token=token), now=now)


@transaction.atomic
def renew(*, pk: int, runner: Runner, token: int, now: datetime) -> Renewal:
    """Prolong the lease, never past the hard deadline of the claim."""
    test = lock(pk=pk, runner=runner, token=token)
    check_live(test, now=now)
    if test.hard_deadline_at is None or test.hard_deadline_at <= now:
        raise StaleLease(f"{test} reached the hard deadline of its claim")
    test.lease_expires_at = min(now + timedelta(seconds=settings.LEASE_S), test.hard_deadline_at)
    test.save(update_fields=["lease_expires_at"])
    Runner.objects.filter(pk=runner.pk).update(last_seen_at=now)
    return Renewal(expires_in_s=(test.lease_expires_at - now).total_seconds(), cancel=False)
