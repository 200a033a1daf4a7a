"""Calls of one trial: fresh inputs, the call itself, the comparison of its output, and the time limit over many calls.

Trial and TimedSide share one Calls object. A problem's own check that raises, dies or never ends proves no fault by
itself: an index out of range is the output's fault, a check that needs too much memory is the problem's. A second,
fresh oracle therefore gets the same data. It must take the reference's output, and must fail on this output again or
refuse it; otherwise the problem's code is to blame, for example because it ran out of memory over all earlier
questions. The admission test blames no competitor: there the same oracle is asked whether it takes the reference's
output.
"""

import logging
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from typing import Final, TypeVar

from problems.spec import MODEL, Case, Problem
from runner.evidence.recorder import Recorder
from runner.evidence.schedule import A, B, I
from runner.evidence.schema import TEXT_CHARS, Check
from runner.judge import limits
from runner.judge.cases import fresh_seed
from runner.judge.data import compare
from runner.judge.data.call import Call, Input, Stopwatch
from runner.judge.data.compare import Fp64, Rule
from runner.judge.data.faults import Fault, IncumbentFailed, OracleFailed, OracleFull, ProblemRaised, of_baseline
from runner.judge.data.layout import Buffer
from runner.judge.data.memory import Memory, NoMemory
from runner.judge.data.room import MOST_AT_ONCE, Plan
from runner.judge.device.processor import Watch
from runner.judge.limits import CALL_S
from runner.judge.sides.oracle import Oracle, Seeds
from runner.judge.sides.tenant import Tenant, Wanted
from sandbox import protocol

AS_SLOW: Final = 4 / 5  # a baseline that took this much of the candidate's time leaves no submission room to be in time

CHANGED_IN_PLACE: Final = (
    "This output is what a call of Model changes in place, such as running statistics: ModelNew must change it alike."
)
LATE: Final = "The output changed after the call had returned; finish all work before you return."
WHILE: Final = "\nwhile it was asked to "  # as in sandbox/inside/oracle.py
SAID_CHARS: Final = 500  # of an error's last line

T = TypeVar("T")

log = logging.getLogger("runner.calls")


@dataclass(frozen=True)
class Turn:
    """A call to make: its input, the number of its output buffer, whether it finds the cache as it is, and whether it
    is lean."""

    given: Input
    buffer: int
    hot: bool = False
    lean: bool = False


@dataclass
class Stage:
    """Time limit of a stage, which begins with this object.

    Each call gets the remaining time, at most `call_s`; orders with a limit of their own (limits.py) get more.
    `asked`: the time that the oracle took so far, in this stage and before. `watch` records the use of the processor
    meanwhile.
    """

    name: str
    limit_s: float
    asked: Stopwatch
    call_s: float = CALL_S
    watch: Watch | None = None
    _spent: dict[str, Stopwatch] = field(default_factory=lambda: {side: Stopwatch() for side in (A, B, I)})

    def __post_init__(self) -> None:
        self._ends = time.monotonic() + self.limit_s
        self._asked_before_s = self.asked.seconds

    def spent_by(self, side: str) -> AbstractContextManager[None]:
        """Count the time of this context on this side's account."""
        return self._spent[side].running()

    def left_s(self, wanted_s: float = 0.0) -> float:
        """Return the limit of the next order, in s. `wanted_s`: a longer limit than a call's, up to half of the stage.

        If no time is left, raises by the side that took most of it: Fault, IncumbentFailed, or OracleFailed for the
        problem's own code and its baseline. All time between calls counts as the problem's: to make inputs and to
        compare outputs. It must not be called while `spent_by` is open, whose time is not counted yet.
        """
        left = self._ends - time.monotonic()
        if left > 0:
            return min(left, max(self.call_s, min(wanted_s, self.limit_s / 2)))
        took = f"{self.name} took longer than its {self.limit_s:g} s in all"
        share = None if self.watch is None else self.watch.share()
        remedy = "choose smaller sizes or fewer cases, or allow more time"
        ours, theirs, others = (self._spent[side].seconds for side in (A, B, I))
        in_calls = ours + theirs + others
        if (between := self.limit_s - left - in_calls) > in_calls:
            inputs_s = self.asked.seconds - self._asked_before_s
            text = f"{between:.0f} s of them between calls, {inputs_s:.0f} s to make inputs and expected outputs"
            raise OracleFailed(f"{took}, {text}: {remedy}", share)
        if others > max(ours, theirs):
            raise IncumbentFailed("timeout", "stage", share)
        if ours > AS_SLOW * theirs:
            raise OracleFailed(f"{took}, {ours:.0f} s of them for the baseline: {remedy}", share)
        raise Fault("timeout", "stage", f"{took}; make the kernel faster.", share=share)


class Calls:
    """Oracle, sides, memory and output buffers of one trial, with all acts of a single call."""

    def __init__(
        self,
        problem: Problem,
        oracle: Oracle,
        sides: dict[str, Tenant],
        memory: Memory,
        *,
        recorder: Recorder | None = None,
        another_oracle: Callable[[], Oracle] | None = None,
    ) -> None:
        """`another_oracle` closes the present oracle and starts a new one, for checks that fail."""
        self.problem = problem
        self.oracle = oracle
        self.another_oracle = another_oracle
        self.sides = sides
        self.memory = memory
        self.recorder = recorder or Recorder()
        self.chance = random.SystemRandom()
        self.comparing = Stopwatch()
        self.queueing = True  # do devices get their work beforehand, in this case?
        self.in_series = True  # do they get the work of several calls at once, where data have room?
        self.plan = Plan(MOST_AT_ONCE)  # of the case's memory
        self._buffers: list[Buffer] = []
        self._called: set[tuple[str, str]] = set()  # side and case
        self._begins = set[str]()  # sides that had no call since they were told to forget, as before each case
        self.cancels = False  # does an output near zero need double precision to be judged?

    def fresh(self, case: Case, count: int, *, near_to: int | None = None, strictly: int | None = None) -> list[Input]:
        """Return `count` new inputs.

        The input at the index `near_to` gets a near-duplicate, different in a few elements, at the end of the list.
        The input at the index `strictly` is compared with double precision, as in a check.
        """
        return self.made_of(self.draw_seeds(count, near_to), case, strictly)

    def draw_seeds(self, count: int, near_to: int | None = None) -> list[Seeds]:
        """Return the seeds of `count` new inputs, and at the end of a near-duplicate of the input at `near_to`."""
        seeds: list[Seeds] = [(fresh_seed(self.chance), None) for _ in range(count)]
        return seeds if near_to is None else [*seeds, (seeds[near_to][0], fresh_seed(self.chance))]

    def made_of(self, seeds: list[Seeds], case: Case, strictly: int | None = None) -> list[Input]:
        """Return the inputs of these seeds, as `fresh` does."""
        rule = self.rule(case)
        last = len(seeds) if strictly is None else strictly
        made = self.make_all(case, seeds[:last] + seeds[last + 1 :], fp64=rule.fp64(timed=not self.cancels))
        if strictly is not None:
            made[last:last] = self.make_all(case, seeds[last : last + 1], fp64=rule.fp64(timed=False))
        return made

    def begin_making(self, seeds: list[Seeds], case: Case, strictly: int | None = None) -> None:
        """Let the oracle make the inputs of `made_of` with these arguments while the judge compares outputs.

        It does not where it shares cores with the judge, where memory is short, and where the problem's own check
        needs it.
        """
        if self.memory.works_beside_oracle and self.plan.keeps and not self.oracle.checks:
            last = len(seeds) if strictly is None else strictly
            fp64 = self.rule(case).fp64(timed=not self.cancels)
            self.oracle.begin(case, seeds[:last] + seeds[last + 1 :], fp64=fp64)

    def make_all(self, case: Case, seeds: Sequence[Seeds], *, fp64: Fp64) -> list[Input]:
        """Return the oracle's inputs. If it finds too little memory, the judge frees its buffers and asks once more."""
        try:
            return self.oracle.make_all(case, seeds, fp64=fp64)
        except OracleFull as full:
            log.warning("the oracle finds too little memory beside the judge's buffers: %s", full)
        self.let_go()
        return self.oracle.make_all(case, seeds, fp64=fp64)

    def let_go(self) -> None:
        """Free all buffers that no input or output in use occupies."""
        self._buffers.clear()
        self.oracle.let_go()

    def call(
        self,
        side: str,
        given: Input,
        stage: Stage,
        buffer: int,
        *,
        public: bool = False,
        idle: bool = False,
    ) -> tuple[Call, Buffer]:
        """Make one call, and return it with its output."""
        (made,) = self.series(side, [Turn(given, buffer)], stage, public=public, idle=idle)
        return made

    def series(
        self, side: str, turns: Sequence[Turn], stage: Stage, *, public: bool = False, idle: bool = False
    ) -> list[tuple[Call, Buffer]]:
        """Make the first of these calls, in a series with those up to the next lean one, and return them with their
        outputs: a device turns to the judge sooner after a call that no other follows, and all calls of a kind must be
        alike. A tenant's words about a secret case are dropped: they may hold the case's data."""
        self.oracle.rest()  # nothing else is at work on the device during a call
        tenant, given = self.sides[side], turns[0].given
        is_first = not idle and (side, given.case) not in self._called
        begins = not idle and (is_first or side in self._begins)
        to_lean = next((at for at, turn in enumerate(turns, 1) if turn.lean), 1)
        most = to_lean if self.queueing and self.in_series and not idle and not begins else 1
        alike = list(takewhile(lambda turn: turn.given.layout == given.layout, turns[:most]))
        if len(alike) < most:  # for all sides: what follows a call is felt
            self.in_series, most = False, 1
        turns = alike[:most]
        outputs = [self.buffer(turn.buffer, turn.given.layout.output_bytes) for turn in turns]
        is_model = self.problem.interface == MODEL
        limit = limits.construction(self.oracle.constructed_s, stage.call_s) if is_model else limits.call(stage.call_s)
        try:
            limit_s = stage.left_s(limit.seconds)
            with stage.spent_by(side):
                tenant.lay_out(given.layout, limit_s)
            limit = limits.first_call(given.reference_s) if is_first else limits.call(stage.call_s, given.reference_s)
            limit_s = stage.left_s(limit.seconds)
            with stage.spent_by(side):
                if self.queueing and tenant.queues and not idle:
                    wanted = [
                        Wanted(turn.given, into, turn.hot, protocol.LEAN if turn.lean else protocol.QUEUE)
                        for turn, into in zip(turns, outputs, strict=True)
                    ]
                    made = tenant.series(wanted, limit_s, is_first=begins)
                    self.in_series &= len(made) == 1 or made[-1].queued
                else:
                    made = [tenant.call(given, outputs[0], limit_s, idle=idle, hot=turns[0].hot, queue=False)]
            self._called |= {(side, given.case)} if is_first else set()
            self._begins -= {side} if begins else set()
            return list(zip(made, outputs, strict=False))
        except Fault as raised:
            stage.left_s()  # raises if the stage's time ran out, naming whose time it was
            fault = limit.explain(raised)
            if side == B:
                fault = fault.about(given.case) if public else fault.without_data(compare.size_class(given.layout))
            raise _blamed(side, fault) from None

    def forget(self, side: str, stage: Stage) -> None:
        """Have a side's allocator give back the memory that it keeps for further calls."""
        limit_s = stage.left_s()
        self._begins.add(side)
        try:
            with stage.spent_by(side):
                self.sides[side].forget(limit_s)
        except Fault as fault:
            raise _blamed(side, fault.without_data()) from None

    def rule(self, case: Case) -> Rule:
        return Rule.of(self.problem, case, own_check=self.oracle.checks)

    def buffer(self, index: int, size: int) -> Buffer:
        """Return private memory for an output, touched beforehand: no page fault of ours inside the clock."""
        while len(self._buffers) <= index:
            self._buffers.append(self._with_room(partial(self.memory.buffer, size)))
        if len(self._buffers[index]) < size:
            self._buffers[index] = self._with_room(partial(self.memory.buffer, size))
        return self._buffers[index]

    def compared(self, given: Input, output: Buffer, rule: Rule) -> list[compare.Figures]:
        """Compare an output with the expected output, element by element."""
        return self._with_room(partial(self.memory.compare, given, output, rule))

    def _with_room(self, work: Callable[[], T]) -> T:
        """Do work that needs memory. If there is too little, free what waits for the next inputs, and try once more."""
        try:
            return work()
        except NoMemory as err:
            log.warning("the judge finds too little memory beside buffers that wait for inputs: %s", err)
        self.oracle.rest()
        self.oracle.let_go()
        return work()

    def judge_output(
        self, given: Input, call: Call, output: Buffer, *, public: bool, side: str = B, is_accepted: bool = False
    ) -> Check:
        """Return the check of an output: by our own comparison, or by the problem's check if it has one. `is_accepted`:
        the problem's check took an equal output for this input; to ask it may take longer than a call."""
        rule = self.rule(given.arguments)
        with self.comparing.running():
            found = self.compared(given, output, rule)
        self.cancels |= any(one.references_own for one in found)
        entry = Check(
            case=given.case,
            seed=given.seed,
            public=public,
            good=True,
            reason="",
            message="",
            figures=[figures.to_json(public=public) for figures in found],
        )
        if call.late:
            _fail(entry, "late_write", LATE)
            entry.outcome = "policy"
        elif self.oracle.checks and not is_accepted:
            good, said = self._own_check(given, output, side)
            if not good:
                shown = f"Case {given.case}: {said}" if public else "A secret case: the problem's own check failed."
                _fail(entry, "check_failed", shown)
        if entry.good:
            for index, figures in enumerate(found):
                if not figures.good:
                    _fail(entry, figures.reason, self._explained(given, found, index, public=public))
                    break
        if entry.good and side == B and given.expected64 is not None:
            case = given.case if public else "a secret case"
            findings = compare.precision_findings(case, given.layout, found, rule)
            findings.sort(key=lambda one: one.figures["least"] / one.figures["relative_l2"])  # the worst output first
            self.recorder.add_new_findings(findings)
        if entry.good and not call.inputs_kept:
            _fail(entry, "input_changed", "Your kernel changed its inputs; they must be left as they were given.")
        return entry

    def _own_check(self, given: Input, output: Buffer, side: str) -> tuple[bool, str]:
        """Return whether the problem's own check takes this output, and its message.

        Raises OracleFailed where the check fails for another reason than this output, or on the baseline's output.
        """
        try:
            return self._checked(given, output)
        except OracleFailed as failed:
            if side == A or (failed.share is not None and failed.share.is_starved):
                raise
            log.warning("the problem's own check failed on an output in case %s: %s", given.case, failed)
            if self.another_oracle is None:
                is_outputs_fault = isinstance(failed, ProblemRaised) and _takes(self.oracle, given)
            else:
                is_outputs_fault = self._is_outputs_fault(self.another_oracle(), given, output)
            if not is_outputs_fault:
                raise
            raised = str(failed).partition(WHILE)[0]  # the rest are the problem's own lines
            last_line = raised.strip().rsplit("\n", 1)[-1][:SAID_CHARS]
            return False, f"the problem's own check failed on your output: {last_line}"

    def _checked(self, given: Input, output: Buffer) -> tuple[bool, str]:
        """Return the answer of the problem's check. If it finds too little memory, the judge frees its buffers and asks
        once more."""
        try:
            return self.oracle.check(given.number, given.layout, output)
        except OracleFull as full:
            log.warning("the problem's check finds too little memory beside the judge's buffers: %s", full)
        self.let_go()
        return self.oracle.check(given.number, given.layout, output)

    def _is_outputs_fault(self, oracle: Oracle, given: Input, output: Buffer) -> bool:
        """Ask another oracle, which replaces the trial's from then on."""
        oracle.follow(self.oracle)
        self.oracle = oracle
        self.let_go()
        try:
            oracle.load(dict(self.problem.files), self.recorder.evidence.init_seed)
            (again,) = oracle.make_all(given.arguments, [given.drawn_from])
            if again.layout != given.layout or not _takes(oracle, again):
                return False
        except OracleFailed as failed:
            log.warning("it fails on what the reference gave, too: %s", failed)
            return False
        try:
            return not oracle.check(again.number, again.layout, output)[0]
        except OracleFailed:
            return True

    def _explained(self, given: Input, found: list[compare.Figures], index: int, *, public: bool) -> str:
        """Return the explanation of a wrong output for its author."""
        figures = found[index]
        said = compare.explain_secret(figures)
        if public:
            said = compare.explain(given.case, figures, index, len(found))
        slot = [slot for slot in given.layout.outputs if slot.nbytes][index]
        is_state = self.problem.interface == MODEL and slot.role == "inout"
        return f"{said} {CHANGED_IN_PLACE}" if is_state else said


def _blamed(side: str, fault: Fault) -> Exception:
    """Return the error that a fault of this side means."""
    if side == A:
        return of_baseline(fault, "the baseline failed")
    return IncumbentFailed(fault.outcome, fault.reason, fault.share) if side == I else fault


def _takes(oracle: Oracle, given: Input) -> bool:
    """Return whether the problem's check takes the reference's own output."""
    try:
        return oracle.check(given.number, given.layout, given.expected)[0]
    except OracleFailed as failed:
        log.warning("it fails on what the reference gave, too: %s", failed)
        return False


def _fail(entry: Check, reason: str, message: str) -> None:
    entry.good, entry.reason, entry.message = False, reason, message[:TEXT_CHARS]
