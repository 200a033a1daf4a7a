"""Mend what died: leases that expired, doorbells that nobody heard. Any number of sweepers may run at once."""

from __future__ import annotations

from datetime import datetime

from leaderboard import broker
from leaderboard.admissions.models import QUEUED, AdmissionTest
from leaderboard.admissions.report import HINT, expire_leases
from leaderboard.judging.models import Runner
from leaderboard.judging.states import RUNNING as JUDGING


def mend(*, now: datetime) -> tuple[int, int]:
    """How many leases expired, and how often it rang: once a hardware that has work, an idle runner and no ring."""
    waiting = AdmissionTest.objects.filter(state=QUEUED).order_by("hardware").values_list("hardware", flat=True)
    return expire_leases(now=now), sum(_ring(hardware) for hardware in list(waiting.distinct()))


def _ring(hardware: str) -> bool:
    able = Runner.objects.filter(hardware=hardware, suspended_at=None, set_aside_at=None)
    idle = able.exclude(attempts__state__in=JUDGING).exists()
    return idle and broker.rings_waiting(hardware) == 0 and broker.ring(hardware=hardware, hint=HINT)
