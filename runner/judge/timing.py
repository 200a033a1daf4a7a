"""Timing of a case: drives the schedule (pure) with sides, telemetry and chance, and writes the evidence.

`Side`, `Telemetry`, `Clock`, `Pause` and the chance are the only sources of samples, heat, time and luck; each has a
fake in the tests. Rules over the readings decide on a block (runner/evidence/throttle.py), never this module. The real
side is `TimedSide`, the real pause `pause_for`.
"""

import gc
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from problems.spec import Case, Tolerance
from runner.evidence import throttle
from runner.evidence.recorder import CaseRecorder
from runner.evidence.sample import Sample
from runner.evidence.schedule import A, End, I, Rest, Run, Schedule
from runner.evidence.schema import Check, Repeat
from runner.evidence.throttle import Window
from runner.judge.calls import Calls, Stage, Turn
from runner.judge.data.call import Call, Clock, Input
from runner.judge.data.compare import Rule
from runner.judge.data.faults import Fault, IncumbentFailed, OracleFailed
from runner.judge.data.layout import Buffer
from runner.judge.device.telemetry import Telemetry, nothing
from runner.judge.sides.oracle import Seeds

WARM_CALLS: Final = (2, 4)  # of a case's first windows; the number is random, to hide a call's kind from its number
NEAR_SHARE: Final = 1 / 2  # of the blocks: right after one input comes the same with a few elements changed
REPEAT_SHARE: Final = 1 / 2  # of the blocks: one input comes a second time
HOT_SHARE: Final = 1 / 2  # of the repeats, where a call finds the cache empty else: it is left as it is
STRICT_SHARE: Final = 1 / 16  # of a submission's blocks, for either kind of calls: an output is held against doubles
FIRST_VISITS: Final = 3  # of places, before it is known how long a call takes
VISITS: Final = 8  # at a time, then
LONG_NS: Final = 10_000_000
REST_TICK_S: Final = 0.1
EXACT: Final = Tolerance(0.0, 0.0)  # of a repeat; not of all bytes: between tensors lies random poison
FAILURES: Final = (Fault, IncumbentFailed, OracleFailed)

Times = Callable[[Sample], float]  # a call's time in ns, as far as it is known during measurement
Pause = Callable[[str], None]  # wait until the cause of a void, a reason of throttle.py, is over


@dataclass(frozen=True)
class Settled:
    """Result of comparing a block's outputs: the check of the first wrong output, and the repeats.

    `seeds` of its inputs, in the order of its calls, including calls that do not count. `lean`: samples of its lean
    calls; `unready`: how many more of them had no output yet when it was read, or were not queued. `alone`: its queued
    calls were single ones, while the harness's own had others after them.
    """

    wrong: Check | None = None
    repeats: list[Repeat] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    lean: list[Sample] = field(default_factory=list)
    unready: int = 0
    alone: bool = False


class Side(Protocol):
    """Container in a case. A block is made ready, run without interruption by our code, and settled."""

    def make_ready(self, calls: int, lean: int = 0) -> None: ...

    def make_ahead(self, calls: int, lean: int) -> None:
        """Begin to make ready for a block of this many calls and lean calls, while the judge is at work on the block
        before."""
        ...

    def run_block(self) -> list[Sample]:
        """Return a sample of each call that counts and tells a time."""
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

    def __post_init__(self) -> None:
        self._warm_calls = min(self.chance.randint(*WARM_CALLS), self.plan.most_calls)

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

    def _make_ahead(self) -> None:
        """Begin to make the inputs of the next block."""
        if (following := self.plan.expected) is not None:
            self.sides[following.side].make_ahead(following.calls, following.lean)

    def _run(self, command: Run) -> Check | None:
        """Run a block. Its failure is raised here, unless the device broke meanwhile, which is no evidence about
        code."""
        side, began_ns = self.sides[command.side], self.clock.now_ns()
        side.make_ready(command.calls or self._warm_calls, command.lean)
        samples, settled, failed, meanwhile = list[Sample](), Settled(), None, nothing
        self.telemetry.begin()
        try:
            samples = side.run_block()
            meanwhile = self._make_ahead
        except FAILURES as err:
            failed = err
        finally:
            window = self.telemetry.end(meanwhile)
        try:
            settled = side.settle() if failed is None else settled
        except FAILURES as err:
            failed = err
        ruling, charged = throttle.rule_block(
            command.side,
            [*samples, *settled.lean],  # a block's first call, which shows a guest's work, is never lean
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
            self.plan,
            command.side,
            took_ns=took_ns,
            window=window,
            samples=samples,
            lean=settled.lean,
            unready=settled.unready,
            alone=settled.alone,
            seeds=settled.seeds,
            ruling=ruling,
        )
        if self.plan.quads[-1].complete:
            self.progress(len(self.plan.valid))
        return None


# -- the sides -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Turn(Turn):
    """One call of a block.

    A call with a `twin`, the buffer of an earlier call, does not count. Its input is the twin's, or with `near` nearly
    the same.
    """

    twin: int | None = None
    near: bool = False


@dataclass(frozen=True)
class _Drawn:
    """Chance's part in a block's inputs: their seeds, and the indices of the inputs of lean calls, of the input that
    has a near twin and of the input of which a submission's output is compared with double precision."""

    calls: int  # beside the lean ones
    lean: frozenset[int]
    twin: int | None
    strictly: int | None
    seeds: list[Seeds]

    def fits(self, calls: int, lean: int) -> bool:
        return (self.calls, len(self.lean)) == (calls, lean)


class Shared:
    """Inputs that a block of the baseline or of the candidate had, for the other's next block.

    Neither side sees an input a second time, and both are timed on the same data, which often take longer to make than
    to use.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self.by = ""  # the side that had them
        self._drawn: _Drawn | None = None
        self._made: list[Input] = []
        self._cancels = False  # whether they were made for a comparison with double precision

    def offer(self, by: str, drawn: _Drawn, made: list[Input]) -> None:
        self.by, self._drawn, self._made, self._cancels = by, drawn, made, self._calls.cancels

    def fits(self, side: str, calls: int, lean: int) -> bool:
        """Return whether there are inputs for a block of this side with so many calls."""
        if self._drawn is None or side == self.by or self._cancels != self._calls.cancels:
            return False
        return self._drawn.fits(calls, lean)

    def take(self) -> tuple[_Drawn, list[Input]]:
        drawn, made = self._drawn, self._made
        assert drawn is not None
        self.by, self._drawn, self._made = "", None, []
        return drawn, made

    def drop(self) -> None:
        """Release the inputs that one side alone had."""
        for one in self._made:
            self._calls.oracle.release(one)
        self.by, self._drawn, self._made = "", None, []


class TimedSide:
    """One side in one case. A call that counts has an input that no call of this side had before.

    Now and then an input, or a near-duplicate of it, comes again. That call does not count; it shows whether code keeps
    results between calls. The last call is lean, and the places of further lean calls are drawn, but never the first,
    whose probe shows the work of the block before. Where the output of one changes after it was read, it was read too
    early: that is no fault, but lean calls certify nothing in this case.
    """

    def __init__(self, calls: Calls, side: str, case: Case, stage: Stage) -> None:
        self.shared: Shared | None = None  # with the other side, if that is to have the same inputs
        self._calls = calls
        self._side = side
        self._case = case
        self._stage = stage
        self._given: list[Input] = []  # inputs of the block
        self._turns: list[_Turn] = []
        self._made: list[tuple[Call, Buffer]] = []
        self._longest = 0  # series of the block
        self._drawn: _Drawn | None = None  # of the next block

    def make_ahead(self, calls: int, lean: int) -> None:
        if self.shared is None or not self.shared.fits(self._side, calls, self._lean(lean)):
            self._drawn = drawn = self._draw(calls, self._lean(lean))
            self._calls.begin_making(drawn.seeds, self._case, drawn.strictly)

    def _draw(self, calls: int, lean: int) -> _Drawn:
        chance = self._calls.chance
        plan = self._calls.plan
        count = calls + lean
        leans = frozenset([*chance.sample(range(1, count - 1), lean - 1), count - 1] if lean else ())
        told = [number for number in range(count) if number not in leans]
        near = plan.near and chance.random() < NEAR_SHARE
        twin = chance.choice(told) if near else None
        kinds = [told, sorted(leans)] if lean else [told]
        for_submission = self._side != A or self.shared is not None
        strict = plan.strict and for_submission and chance.random() < STRICT_SHARE * len(kinds)
        strictly = chance.choice(chance.choice(kinds)) if strict else None
        return _Drawn(calls, leans, twin, strictly, self._calls.draw_seeds(count, twin))

    def _lean(self, wanted: int) -> int:
        """Return how many of the lean calls that the schedule wants can be made."""
        can = self._calls.queueing and self._calls.sides[self._side].leans
        return wanted if can else 0

    def make_ready(self, calls: int, lean: int = 0) -> None:
        chance = self._calls.chance
        drawn, made = self._inputs(calls, self._lean(lean))
        self._given, count, twin = made, calls + len(drawn.lean), drawn.twin
        if self._side == A and drawn.strictly is not None and not self._calls.cancels:
            made = [replace(one, expected64=None) if at == drawn.strictly else one for at, one in enumerate(made)]
        self._turns = [_Turn(given, number, lean=number in drawn.lean) for number, given in enumerate(made[:count])]
        if twin is not None:
            self._turns.insert(twin + 1, _Turn(made[count], count, twin=twin, near=True))
        if self._calls.plan.repeats and chance.random() < REPEAT_SHARE:
            at = chance.choice([at for at, turn in enumerate(self._turns) if not turn.lean])
            twin_turn = self._turns[at]
            hot = self._calls.memory.sweeps and chance.random() < HOT_SHARE
            again = _Turn(twin_turn.given, len(made), twin=twin_turn.buffer, hot=hot)
            self._turns.insert(chance.randint(at + 1, len(self._turns) - bool(drawn.lean)), again)
        for turn in self._turns:
            self._calls.buffer(turn.buffer, turn.given.layout.output_bytes)

    def _inputs(self, calls: int, lean: int) -> tuple[_Drawn, list[Input]]:
        """Return the inputs of the other side's last block if they fit, or else new inputs."""
        drawn, self._drawn, shared = self._drawn, None, self.shared
        if shared is not None and shared.fits(self._side, calls, lean):
            return shared.take()
        if shared is not None:
            shared.drop()
        if drawn is None or not drawn.fits(calls, lean):
            drawn = self._draw(calls, lean)
        if not self._calls.plan.keeps:
            self._calls.let_go()
        made = self._calls.made_of(drawn.seeds, self._case, drawn.strictly)
        if shared is not None:
            shared.offer(self._side, drawn, made)
        return drawn, made

    def visit(self, most_calls: int) -> Check | None:
        """Call once in each place that the data take, before the timing. Returns the check of a wrong output, or None.

        Code may prepare itself in a place once, too late for the gate, and a device is slower in a new place. If calls
        are long, places make no difference, and a few calls are enough. Calls in a row share an input, which may take
        long to make.
        """
        left, calls = self._calls.sides[self._side].begin_turns(), FIRST_VISITS
        while left > 0:
            # A case's first call may wait for its host; so it has another one beside it, if there is room.
            self._make_ready_to_visit(min(max(left, 2), calls, most_calls))
            self.run_block(decides=False)
            others = self._made[1:] or self._made
            left, shortest_ns = left - len(self._made), min(call.sample.wall_ns for call, _ in others)
            try:
                wrong, *_ = self._judged()
            finally:
                self.drop()
            if wrong is not None or shortest_ns > LONG_NS:
                return wrong
            calls = VISITS
        # A series as long as any of a block: if a device has no room for it, that shows before the timing.
        self.make_ready(min(VISITS, max(most_calls - 1, 1)), 1)
        self.run_block(decides=False)
        return self.settle().wrong

    def _make_ready_to_visit(self, calls: int) -> None:
        if not self._calls.plan.keeps:
            self._calls.let_go()
        (given,) = self._given = self._calls.made_of(self._calls.draw_seeds(1), self._case)
        self._turns = [_Turn(given, number, twin=0 if number else None) for number in range(calls)]
        for turn in self._turns:
            self._calls.buffer(turn.buffer, given.layout.output_bytes)

    def run_block(self, *, idle: bool = False, decides: bool = True) -> list[Sample]:
        if not self._calls.queueing:
            self._calls.sides[self._side].move()
        gc.disable()
        try:
            self._made, self._longest, in_series = [], 0, self._calls.in_series
            while left := self._turns[len(self._made) :]:
                made = self._calls.series(self._side, left, self._stage, idle=idle)
                self._made, self._longest = self._made + made, max(self._longest, len(made))
        finally:
            gc.enable()
        decides = decides and not idle and self._calls.in_series == in_series  # else one call may have failed many
        if decides and 2 * sum(call.queued for call, _ in self._made) < len(self._made):
            self._calls.queueing = False  # in this case, for all sides: they are timed the same way
        found = zip(self._made, self._turns, strict=True)
        return [call.sample for (call, _), turn in found if idle or (turn.twin is None and not turn.lean)]

    def settle(self) -> Settled:
        """Compare every output, also of repeats. Raises as `_judged`."""
        try:
            wrong, lean, unready = self._judged()
            if wrong is not None:
                return Settled(wrong)
            seeds = [turn.given.seed for turn in self._turns]
            alone = self._longest == 1 and self._calls.sides[self._side].own_in_series
            return Settled(repeats=list(self._repeats()), seeds=seeds, lean=lean, unready=unready, alone=alone)
        finally:
            self.drop()

    def _judged(self) -> tuple[Check | None, list[Sample], int]:
        """Return the check of the first wrong output, the samples of lean calls, and how many of them were not ready.

        Raises OracleFailed if an output of the baseline is wrong, IncumbentFailed if one of the incumbent is.
        """
        lean, unready = list[Sample](), 0
        for (call, output), turn in zip(self._made, self._turns, strict=True):
            if turn.lean:
                is_ready = call.queued and not call.late
                unready += not is_ready
                lean += [call.sample] if is_ready else []
                if call.late:
                    continue
            is_accepted = self._calls.oracle.checks and self._is_same(turn, output)
            entry = self._calls.judge_output(
                turn.given, call, output, public=False, side=self._side, is_accepted=is_accepted
            )
            if not entry.good:
                if self._side == A:
                    raise OracleFailed(f"the baseline is wrong: {entry.message}")
                if self._side == I:
                    raise IncumbentFailed(entry.outcome, entry.reason)
                return entry, lean, unready
        return None, lean, unready

    def _repeats(self) -> Iterator[Repeat]:
        fresh = {turn.buffer: at for at, turn in enumerate(self._turns)}
        for (call, output), turn in zip(self._made, self._turns, strict=True):
            if turn.twin is None:
                continue
            first, _ = self._made[fresh[turn.twin]]
            yield Repeat.model_construct(
                side=self._side,
                fresh=first.sample,
                again=call.sample,
                same_bits=self._is_same(turn, output),
                near=turn.near,
                hot=turn.hot,
            )

    def _is_same(self, turn: _Turn, output: Buffer) -> bool:
        """Return whether it is an exact repeat, and its output equals the first (EXACT)."""
        if turn.twin is None or turn.near:
            return False
        first = next(at for at, one in enumerate(self._turns) if one.buffer == turn.twin)
        expected = replace(turn.given, expected=self._made[first][1], expected64=None)
        with self._calls.comparing.running():
            found = self._calls.compared(expected, output, Rule(tolerance=EXACT))
        return all(figures.different == 0 for figures in found)

    def drop(self) -> list[Input]:
        """Release the memory of the block's inputs, unless the other side is to have them, and return the inputs
        without their bytes."""
        given = self._given
        if self.shared is None or self.shared.by != self._side:
            for one in given:
                self._calls.oracle.release(one)
        self._given, self._turns, self._made = [], [], []
        return [replace(one, inputs=b"", expected=b"", expected64=None) for one in given]


def pause_for(telemetry: Telemetry) -> Pause:
    """Return the pause that waits until the reason for it is over."""

    def pause(why: str) -> None:
        began, hot_c = time.monotonic(), telemetry.temperature_c()
        while not throttle.pause_is_over(why, hot_c, telemetry.temperature_c(), time.monotonic() - began):
            time.sleep(REST_TICK_S)

    return pause
