"""The judge's wall clock: the only source of time for all ranked values, with a seam for a fake."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

# Held while a call's clock runs: meanwhile no thread of the judge queries the device or its driver. An NVML query
# beside it made the idle probe take 0.5 to 0.9 ms instead of 0.04.
HANDS_OFF: Final = threading.Lock()


class Clock(Protocol):
    """Nanoseconds of a monotonic clock."""

    def now_ns(self) -> int: ...


class WallClock:
    """CLOCK_MONOTONIC_RAW: no daemon slews it."""

    def now_ns(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Stopwatch:
    """Sum of the time that a job spends in a step, for the report; it never ranks."""

    def __init__(self) -> None:
        self.seconds = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        start = time.monotonic()
        try:
            yield
        finally:
            self.seconds += time.monotonic() - start
