"""Repair after failures: expired leases and unheard doorbells. Any number of sweepers may run at once."""

from __future__ import annotations

from datetime import datetime

from leaderboard.admissions.models import AdmissionTest
from leaderboard.admissions.report import expire_leases
from leaderboard.judging.leased import ring_idle


def mend(*, now: datetime) -> tuple[int, int]:
    """Expire leases and ring idle runners; return the number of expired leases and of rings."""
    return expire_leases(now=now), ring_idle(AdmissionTest)
