from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from runner.judge.throttle import Reading, Window


class Telemetry(Protocol):
    level: str

    def begin(self) -> None: ...
    def end(self) -> Window: ...
    def temperature_c(self) -> float | None: ...
    def close(self) -> None: ...


class Nothing:
    level = "none"

    def begin(self) -> None:
        self._t = time.monotonic_ns()

    def end(self) -> Window:
        return Window(Reading(at_ns=self._t), Reading(at_ns=time.monotonic_ns()), ())

    def temperature_c(self) -> float | None:
        return None

    def close(self) -> None: ...


def open_telemetry(hardware: str, *, own: Callable[[], frozenset[int]]) -> Telemetry:
    return Nothing()
