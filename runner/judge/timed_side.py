"""One side in one timed case: makes a block's inputs, calls, compares. The real `Side` and `Pause` of timing.py."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from problems.spec import Case, Tolerance
from runner.evidence import throttle
from runner.evidence.sample import Sample
from runner.evidence.schedule import A, I
from runner.evidence.schema import Check, Repeat
from runner.judge import timing
from runner.judge.calls import Calls
from runner.judge.data.call import Call, Input
from runner.judge.data.criterion import Rule
from runner.judge.data.faults import IncumbentFailed, OracleFailed
from runner.judge.data.layout import Buffer
from runner.judge.device.telemetry import Telemetry
from runner.judge.time_budget import Stage

NEAR_SHARE: Final = 1 / 2  # of the blocks: right after one input comes the same with a few elements changed
REPEAT_SHARE: Final = 1 / 2  # of the blocks: one input comes a second time
HOT_SHARE: Final = 1 / 2  # of the repeats, where a call finds the cache empty else: it is left as it is
STRICT_SHARE: Final = 1 / 16  # of a submission's blocks: one output in them, drawn, is held against double precision
FIRST_VISITS: Final = 3  # of places, before it is known how long a call takes
VISITS: Final = 8  # at a time, then
LONG_NS: Final = 10_000_000
REST_TICK_S: Final = 0.1
EXACT: Final = Tolerance(0.0, 0.0)  # of a repeat; not of all bytes: between tensors lies random poison


@dataclass(frozen=True)
class _Turn:
    """One call of a block: its input and its output buffer.

    A call with a `twin`, the buffer of an earlier call, does not count. Its input is the twin's, or with `near` nearly
    the same.
    """

    given: Input
    buffer: int
    twin: int | None = None
    near: bool = False
    hot: bool = False


class TimedSide:
    """One side in one case. A call that counts has an input that no call had before.

    Now and then an input, or a near-duplicate of it, comes again. That call does not count; it shows whether code keeps
    results between calls.
    """

    def __init__(self, calls: Calls, side: str, case: Case, stage: Stage) -> None:
        self._calls = calls
        self._side = side
        self._case = case
        self._stage = stage
        self._turns: list[_Turn] = []
        self._made: list[tuple[Call, Buffer]] = []

    def make_ready(self, calls: int) -> None:
        chance = self._calls.chance
        near, repeat = (calls > 1 and chance.random() < share for share in (NEAR_SHARE, REPEAT_SHARE))
        twin = chance.randrange(calls) if near else None
        strictly = chance.randrange(calls) if self._side != A and chance.random() < STRICT_SHARE else None
        made = self._calls.fresh(self._case, calls, near_to=twin, strictly=strictly)
        self._turns = [_Turn(given, number) for number, given in enumerate(made[:calls])]
        if twin is not None:
            self._turns.insert(twin + 1, _Turn(made[calls], calls, twin, near=True))
        if repeat:
            at = chance.randrange(len(self._turns))
            twin_turn = self._turns[at]
            hot = self._calls.memory.sweeps and chance.random() < HOT_SHARE
            again = _Turn(twin_turn.given, calls + 1, twin_turn.buffer, hot=hot)
            self._turns.insert(chance.randint(at + 1, len(self._turns)), again)
        for turn in self._turns:
            self._calls.buffer(turn.buffer, turn.given.layout.output_bytes)

    def visit(self, most_calls: int) -> Check | None:
        """Call once in each place that the data take, before the timing. Returns the check of a wrong output, or None.

        Code may prepare itself in a place once, too late for the gate, and a device is slower in a new place. If calls
        are long, places make no difference, and a few calls are enough.
        """
        left, calls = self._calls.sides[self._side].begin_turns(), FIRST_VISITS
        while left > 0:
            self.make_ready(min(left, calls, most_calls))
            samples = self.run_block(decides=False)
            left -= len(samples)
            if (wrong := self.settle().wrong) is not None:
                return wrong
            if min(sample.wall_ns for sample in samples) > LONG_NS:
                break
            calls = VISITS
        return None

    def run_block(self, *, idle: bool = False, decides: bool = True) -> list[Sample]:
        if not self._calls.queueing:
            self._calls.sides[self._side].move()
        gc.disable()
        try:
            self._made = [
                self._calls.call(self._side, turn.given, self._stage, turn.buffer, idle=idle, hot=turn.hot)
                for turn in self._turns
            ]
        finally:
            gc.enable()
        if decides and not idle and 2 * sum(call.queued for call, _ in self._made) < len(self._made):
            self._calls.queueing = False  # in this case, for all sides: they are timed the same way
        return [
            call.sample for (call, _), turn in zip(self._made, self._turns, strict=True) if idle or turn.twin is None
        ]

    def settle(self) -> timing.Settled:
        """Compare every output, also of repeats.

        Raises OracleFailed if an output of the baseline is wrong, IncumbentFailed if one of the incumbent is.
        """
        try:
            for (call, output), turn in zip(self._made, self._turns, strict=True):
                entry = self._calls.judge_output(turn.given, call, output, public=False, side=self._side)
                if not entry.good:
                    if self._side == A:
                        raise OracleFailed(f"the baseline is wrong: {entry.message}")
                    if self._side == I:
                        raise IncumbentFailed(entry.outcome, entry.reason)
                    return timing.Settled(wrong=entry)
            return timing.Settled(repeats=list(self._repeats()), seeds=[turn.given.seed for turn in self._turns])
        finally:
            self.drop()

    def _repeats(self) -> Iterator[Repeat]:
        fresh = {turn.buffer: at for at, turn in enumerate(self._turns)}
        for (call, output), turn in zip(self._made, self._turns, strict=True):
            if turn.twin is None:
                continue
            first, its_output = self._made[fresh[turn.twin]]
            same = False
            if not turn.near:
                first_one = replace(turn.given, expected=its_output, expected64=None)
                found = self._calls.memory.compare(first_one, output, Rule(tolerance=EXACT))
                same = all(figures.different == 0 for figures in found)
            yield Repeat.model_construct(
                side=self._side, fresh=first.sample, again=call.sample, same_bits=same, near=turn.near, hot=turn.hot
            )

    def drop(self) -> list[Input]:
        """Release the memory of the block's inputs."""
        given = [turn.given for turn in self._turns if turn.twin is None or turn.near]
        for one in given:
            self._calls.oracle.release(one)
        self._turns, self._made = [], []
        return given


def pause_for(telemetry: Telemetry) -> timing.Pause:
    """Return the pause that waits until the reason for it is over."""

    def pause(why: str) -> None:
        began, hot_c = time.monotonic(), telemetry.temperature_c()
        while not throttle.pause_is_over(why, hot_c, telemetry.temperature_c(), time.monotonic() - began):
            time.sleep(REST_TICK_S)

    return pause
