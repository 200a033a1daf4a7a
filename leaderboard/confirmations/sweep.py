"""Recovery after failures: expired leases, doorbells without an answer. Any number of sweepers may run at once."""

from __future__ import annotations

from datetime import datetime

from leaderboard.confirmations.models import Confirmation
from leaderboard.confirmations.report import expire_leases
from leaderboard.judging.leased import ring_idle


def mend(*, now: datetime) -> tuple[int, int]:
    """Return the number of expired leases and the number of rings."""
    return expire_leases(now=now), ring_idle(Confirmation)
