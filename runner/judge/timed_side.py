"""One side in one timed case: makes a block's inputs, calls, compares. The real `Side` and `Pause` of timing.py."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from problems.spec import Case
from problems.tolerance import Tolerance
from runner.judge import throttle, timing
from runner.judge.faults import IncumbentFailed, OracleFailed
from runner.judge.memory import Buffer
from runner.judge.rule import Rule
from runner.judge.schedule import A, I
from runner.judge.telemetry import Telemetry
from runner.judge.tenant import Call, Input

if TYPE_CHECKING:
    from runner.judge.trial import Stage, Trial

NEAR_SHARE: Final = 1 / 8  # of a block's inputs: the one before with a few elements changed
REPEAT_SHARE: Final = 1 / 2  # of the blocks: one input comes a second time
HOT_SHARE: Final = 1 / 2  # of the repeats, where a call finds the cache empty else: it is left as it is
REST_TICK_S: Final = 0.1
EXACT: Final = Tolerance(0.0, 0.0)  # of a repeat; not all bytes, for between tensors lies what poison was drawn

Evidence = dict[str, Any]


@dataclass(frozen=True)
class _Turn:
    """One call of a block: on which input, into which buffer; `twin`: the call that it repeats exactly."""

    given: Input
    buffer: int
    twin: int | None = None
    hot: bool = False


class TimedSide:
    """One side in one case. What counts is called on inputs that were never seen before, some of them near-duplicates
    of the one before; now and then an input comes again, which counts for nothing but shows a cache of results."""

    def __init__(self, trial: Trial, side: str, case: Case, stage: Stage) -> None:
        self._trial = trial
        self._side = side
        self._case = case
        self._stage = stage
        self._turns: list[_Turn] = []
        self._calls: list[tuple[Call, Buffer]] = []

    def make_ready(self, calls: int) -> None:
        chance = self._trial.chance
        given: list[Input] = []
        with self._trial.oracle.awake():
            for _ in range(calls):
                near = given and chance.random() < NEAR_SHARE
                given.append(self._trial.fresh(self._case, near_to=given[-1] if near else None))
        self._turns = [_Turn(one, number) for number, one in enumerate(given)]
        if calls > 1 and chance.random() < REPEAT_SHARE:
            twin = chance.randrange(calls)
            hot = self._trial.memory.sweeps and chance.random() < HOT_SHARE
            self._turns.insert(chance.randint(twin + 1, calls), _Turn(given[twin], calls, twin, hot))
        for turn in self._turns:
            self._trial.buffer(turn.buffer, turn.given.layout.output_bytes)

    def run_block(self, *, idle: bool = False) -> list[list[int]]:
        with _no_collector():
            self._calls = [
                self._trial.call(self._side, turn.given, self._stage, turn.buffer, idle=idle, hot=turn.hot)
                for turn in self._turns
            ]
        return [
            call.sample for (call, _), turn in zip(self._calls, self._turns, strict=True) if idle or turn.twin is None
        ]

    def settle(self) -> timing.Settled:
        """Every output is compared, also of a repeat. Raises OracleFailed where it is the baseline's that is wrong,
        IncumbentFailed where it is the incumbent's."""
        try:
            for (call, output), turn in zip(self._calls, self._turns, strict=True):
                entry = self._trial.judge_output(turn.given, call, output, public=False, side=self._side)
                if not entry["good"]:
                    if self._side == A:
                        raise OracleFailed(f"the baseline is wrong: {entry['message']}")
                    if self._side == I:
                        raise IncumbentFailed(entry.get("outcome", "wrong"), entry["reason"])
                    return timing.Settled(wrong=entry)
            return timing.Settled(repeats=list(self._repeats()))
        finally:
            self.drop()

    def _repeats(self) -> Iterator[Evidence]:
        fresh = {turn.buffer: at for at, turn in enumerate(self._turns)}
        for (call, output), turn in zip(self._calls, self._turns, strict=True):
            if turn.twin is not None:
                first, its_output = self._calls[fresh[turn.twin]]
                first_one = replace(turn.given, expected=its_output, expected64=None)
                found = self._trial.memory.compare(first_one, output, Rule(tolerance=EXACT))
                same = all(figures.different == 0 for figures in found)
                yield {"fresh": first.sample, "again": call.sample, "same_bits": same, "hot": turn.hot}

    def drop(self) -> list[Input]:
        """Gives the memory of the block's inputs back."""
        given = [turn.given for turn in self._turns if turn.twin is None]
        for one in given:
            self._trial.oracle.release(one)
        self._turns, self._calls = [], []
        return given


def pause_for(telemetry: Telemetry) -> timing.Pause:
    """A real rest."""

    def pause(why: str) -> None:
        began, hot_c = time.monotonic(), telemetry.temperature_c()
        while not throttle.pause_is_over(why, hot_c, telemetry.temperature_c(), time.monotonic() - began):
            time.sleep(REST_TICK_S)

    return pause


@contextmanager
def _no_collector() -> Any:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
