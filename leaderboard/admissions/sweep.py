"""Mend what died: leases that expired, doorbells that nobody heard. Any number of sweepers may run at once."""

from __future__ import annotations

from datetime import datetime

from leaderboard.admissions.models import AdmissionTest
from leaderboard.admissions.report import expire_leases
from leaderboard.judging.leased import ring_idle


def mend(*, now: datetime) -> tuple[int, int]:
    """How many leases expired, and how often it rang."""
    return expire_leases(now=now), ring_idle(AdmissionTest)
