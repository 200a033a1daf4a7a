"""Timing of a case: drives the schedule (pure) with sides, telemetry and chance, and writes the evidence.

`Side`, `Telemetry`, `Clock`, `Pause` and the chance are the only sources of samples, heat, time and luck; each has a
fake in the tests. Rules over the readings decide on a block (runner/evidence/throttle.py), never this module.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from runner.evidence import throttle
from runner.evidence.recorder import CaseRecorder
from runner.evidence.sample import Sample
from runner.evidence.schedule import A, End, Rest, Run, Schedule
from runner.evidence.schema import Check, Repeat
from runner.evidence.throttle import Window
from runner.judge.data.call import Clock
from runner.judge.data.faults import Fault, IncumbentFailed, OracleFailed
from runner.judge.device.telemetry import Telemetry

WARM_CALLS: Final = (2, 4)  # of a first window; the number is random, to hide a call's kind from its number
FAILURES: Final = (Fault, IncumbentFailed, OracleFailed)

Times = Callable[[Sample], float]  # a call's time in ns, as far as it is known during measurement
Pause = Callable[[str], None]  # wait until the cause of a void, a reason of throttle.py, is over


@dataclass(frozen=True)
class Settled:
    """Result of comparing a block's outputs: the check of the first wrong output, and the repeats.

    `seeds` of its inputs, in the order of its calls, including calls that do not count.
    """

    wrong: Check | None = None
    repeats: list[Repeat] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)


class Side(Protocol):
    """Container in a case. A block is made ready, run without interruption by our code, and settled."""

    def make_ready(self, calls: int) -> None: ...

    def run_block(self) -> list[Sample]:
        """Return a sample of each call that counts."""
        ...

    def settle(self) -> Settled: ...


@dataclass
class CaseTiming:
    """Timing of a case. `recorder` is complete when `run` returns."""

    plan: Schedule
    sides: Mapping[str, Side]
    telemetry: Telemetry
    clock: Clock
    times: Times
    pause: Pause
    chance: random.Random
    recorder: CaseRecorder
    progress: Callable[[int], None]
    _warm: dict[str, Window] = field(default_factory=dict)
    _guest: str = ""  # the side of foreign code that ran last

    def run(self) -> Check | None:
        """Run the case. Returns the check of a wrong output, which ends the attempt, else None. Raises Fault,
        OracleFailed."""
        while not isinstance(command := self.plan.next(), End):
            if isinstance(command, Rest):
                self.pause(command.why)
                self.plan.rested()
            elif wrong := self._run(command):
                return wrong
        self.recorder.add_end(self.plan, command)
        return None

    def _run(self, command: Run) -> Check | None:
        """Run a block. Its failure is raised here, unless the device broke meanwhile, which is no evidence about
        code."""
        side, began_ns = self.sides[command.side], self.clock.now_ns()
        side.make_ready(command.calls or min(self.chance.randint(*WARM_CALLS), self.plan.most_calls))
        samples, settled, failed = list[Sample](), Settled(), None
        self.telemetry.begin()
        try:
            samples = side.run_block()
        except FAILURES as err:
            failed = err
        finally:
            window = self.telemetry.end()
        try:
            settled = side.settle() if failed is None else settled
        except FAILURES as err:
            failed = err
        ruling, charged = throttle.rule_block(
            command.side,
            samples,
            window,
            warm=self._warm.get(command.side),
            probe_limit_ns=self.recorder.timing.probe_limit_ns,
            guest=self._guest,
        )
        self._guest = throttle.guest_after(self._guest, command.side)
        if not throttle.breaks(ruling):
            if failed is not None:
                raise failed
            if settled.wrong is not None:
                return settled.wrong
            self.recorder.add_repeats(settled.repeats)
        took_ns = self.clock.now_ns() - began_ns
        self.plan.ran([self.times(sample) for sample in samples], took_ns / 1e9, ruling, charged)
        if charged not in ("", A) and ruling.reason.startswith(throttle.XID):
            raise Fault(
                "runtime_error", "device_error", f"The driver reported an error of your kernel ({ruling.reason})."
            )
        if command.warm:
            self._warm[command.side] = window
            self.recorder.add_warm_up(command.side, took_ns, window)
            return None
        self.recorder.add_block(
            self.plan, command.side, took_ns=took_ns, window=window, samples=samples, seeds=settled.seeds, ruling=ruling
        )
        if self.plan.quads[-1].complete:
            self.progress(len(self.plan.valid))
        return None
