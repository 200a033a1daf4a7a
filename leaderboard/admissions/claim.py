"""Claim of the next admission test by a runner."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from leaderboard.admissions.models import AdmissionTest
from leaderboard.admissions.report import give_back
from leaderboard.judging import leased
from leaderboard.judging.models import Runner
from runner.wire import ADMISSION, Job

VARIANTS: Final = 8  # at most, on every case: a test may take this multiple of a problem's own limit for a check


def claim_test(*, runner: Runner, now: datetime, asked_before: datetime | None = None) -> Job | None:
    """Claim the next test of this runner's hardware; return None if there is none.

    `asked_before` limits the choice to tests that have waited since then.
    """
    waiting = AdmissionTest.objects.filter(created_at__lte=asked_before or now).order_by("losses", "id")
    test = leased.claim(waiting, runner=runner, now=now)
    return None if test is None else _handed_out(test, now)


def claim_test_again(*, runner: Runner, now: datetime) -> Job | None:
    """Repeat the claim of a test if its answer was lost; count a loss if the claiming process is gone."""
    test = leased.held_by(AdmissionTest, runner)
    if test is None:
        return None
    if leased.claim_again(test, runner=runner, now=now) is None:
        give_back(test, why=leased.RESTARTED, now=now)
        return None
    return _handed_out(test, now)


def _handed_out(test: AdmissionTest, now: datetime) -> Job:
    test.hard_deadline_at = now + longest(test)
    test.save(update_fields=["hard_deadline_at"])
    return _job(test)


def longest(test: AdmissionTest) -> timedelta:
    """Return how long a runner may hold a test in all."""
    check_s = float(test.version.part("test_timeout_s", 0))
    return timedelta(seconds=VARIANTS * check_s + settings.ATTEMPT_OVERHEAD_S)


def _job(test: AdmissionTest) -> Job:
    return Job(
        attempt_id=test.attempt_id,
        token=test.token,
        lease_s=settings.LEASE_S,
        hardware=test.hardware,
        mode="test",
        submission_id="",
        filename="",
        source="",
        problem=test.version.bundle,
        problem_digest=test.version.digest,
        deadline_s=longest(test).total_seconds(),
        task=ADMISSION,
    )
