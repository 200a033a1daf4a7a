"""Input, steps and outcome of a tenant's call, and the clocks of the judge.

Experiments leave out steps, to show the cost of each and the cheat that it prevents. A run without a step is not
certified and ranks nowhere; its evidence names the step.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Final, Protocol, Self

from problems.spec import Case
from runner.evidence.sample import Sample
from runner.judge.data.layout import Buffer, Layout

# Held while a call's clock runs: meanwhile no thread of the judge queries the device or its driver. An NVML query
# beside it made the idle probe take 0.5 to 0.9 ms instead of 0.04.
HANDS_OFF: Final = threading.Lock()


class Clock(Protocol):
    """Nanoseconds of a monotonic clock: the only source of time for all ranked values, with a seam for a fake."""

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


@dataclass(frozen=True)
class Input:
    """Fresh input in the judge's private memory, with the reference's outputs."""

    number: int  # the oracle's handle, for the problem's own check
    case: str
    seed: int
    layout: Layout
    inputs: Buffer
    expected: Buffer
    drawn_from: tuple[int, int | None] = (0, None)  # seeds of the input and of its near twin, to make it again
    near: bool = False  # an earlier input with a few elements changed
    eager_ns: int = 0  # the reference's own time, in the oracle
    reference_s: float = 0.0  # of the reference's first call of the case there, by the host's clock
    expected64: Buffer | None = None  # the outputs in double precision, maybe their spreads behind them: layout.py
    why_not64: str = ""  # where expected64 is None
    arguments: Case = field(default_factory=dict)  # of the case
    condition: tuple[tuple[float, float], ...] = ()  # how far elements move with inputs; the same over their usual size
    terms: tuple[int, ...] = ()  # how many input elements stand behind an element of each output; 0: unknown


@dataclass(frozen=True)
class Call:
    """Outcome of a call. In its sample, `inner_ns` is the tenant's own word, evidence at most.

    `put_ns` and `take_ns` are the parts of the wall time in which the judge itself copied inputs in and the output out;
    `thaw_ns` and `freeze_ns` are how long the control group took (on a device the freeze is after the clock). `queued`:
    a device did the whole call with every host thread frozen, and `wall_ns` contains no time of a host.
    """

    sample: Sample
    inputs_kept: bool
    late: bool
    queued: bool = False


@dataclass(frozen=True)
class Steps:
    """Steps of a call; True means taken. docs/how-it-measures.md explains their purpose."""

    freeze: bool = True  # stop every thread of a container outside its calls
    probe: bool = True  # ask before a call whether the device is idle
    early: bool = True  # start the clock before the inputs are copied in, not after
    withhold: bool = True  # some words of the inputs come last, with the order
    sweep: bool = True  # drive all data out of L2 before a call
    reset: bool = True  # undo persistence in L2, which no sweep would drive out
    telemetry: bool = True  # look at the device before, in and after each block
    arm: bool = True  # the judge's device waits for the tenant's, and reads the output with no host in between
    queue: bool = True  # the tenant's device has a call's work before the inputs come, and waits for the judge's
    read: bool = True  # stop the clock when the judge has the whole output, not when the tenant reports the end

    @classmethod
    def without(cls, names: str) -> Self:
        """Return all steps but `names`, separated by commas. Raises ValueError for an unknown name."""
        left_out = [name.strip() for name in names.split(",") if name.strip()]
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(left_out) - set(known)):
            raise ValueError(f"{', '.join(unknown)} is no step of a call; they are {', '.join(known)}")
        return cls(**dict.fromkeys(left_out, False))

    @property
    def left_out(self) -> list[str]:
        return [field.name for field in fields(self) if not getattr(self, field.name)]


ALL: Final = Steps()
