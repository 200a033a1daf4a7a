"""The judge's wall clock: the only source of time for everything that ranks, with one seam for a fake."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Nanoseconds of a monotonic clock."""

    def now_ns(self) -> int: ...


class WallClock:
    """CLOCK_MONOTONIC_RAW: no daemon slews it."""

    def now_ns(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
