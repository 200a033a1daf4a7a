"""One attempt in the judge's hands: the correctness cases, then the timed ones. Produces the evidence, not the verdict.

Every call of either kind is the same call: fresh inputs, poisoned output, the whole output compared afterwards. The
comparing happens between blocks, with every tenant frozen.
"""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from problems.spec import Case, Problem, case_name
from runner.judge import certificate, compare
from runner.judge.cases import fresh_seed, plan_checks
from runner.judge.faults import Fault, OracleFailed
from runner.judge.memory import Buffer, Memory
from runner.judge.oracle import Oracle
from runner.judge.schedule import ABBA, A, B, Profile, Schedule
from runner.judge.tenant import Call, Input, Tenant

EVIDENCE_VERSION: Final = 1
CALL_S: Final = 10.0  # the longest that one call may take
WARM_UP: Final = (2, 4)  # calls of each side before a case is timed; how many is drawn

Emit = Callable[[str, str, dict[str, Any]], None]  # state, message, data
Evidence = dict[str, Any]


@dataclass
class Stage:
    """A time limit over many calls; each call gets what is left of it, at most CALL_S."""

    name: str
    limit_s: float
    ends: float

    @classmethod
    def begin(cls, name: str, limit_s: float) -> Stage:
        return cls(name, limit_s, time.monotonic() + limit_s)

    def left_s(self) -> float:
        left = self.ends - time.monotonic()
        if left <= 0:
            raise Fault(
                "timeout",
                "stage",
                f"{self.name} took longer than its {self.limit_s:g} s in all; make the kernel faster.",
            )
        return min(left, CALL_S)


class Trial:
    """Use: `load`, `check`, and for a timed mode `measure`; then read `evidence`."""

    def __init__(
        self,
        problem: Problem,
        mode: str,
        oracle: Oracle,
        sides: dict[str, Tenant],
        memory: Memory,
        *,
        profile: Profile,
        emit: Emit,
    ) -> None:
        self.problem = problem
        self.memory = memory
        self.oracle = oracle
        self.sides = sides
        self.profile = profile
        self.emit = emit
        self.chance = random.SystemRandom()
        self._buffers: list[Buffer] = []
        self.evidence: Evidence = {
            "version": EVIDENCE_VERSION,
            "mode": mode,
            "ranking_by": problem.ranking_by,
            "stop_half_width": profile.stop_half_width,
            "clock": profile.clock,
            "certified": False,
            "fault": None,
            "checks": [],
            "timing": [],
        }

    # -- building ------------------------------------------------------------------------------------------------

    def load(self, source: str) -> None:
        """The submission into its container. All of the problem's files but the reference go along."""
        problem = self.problem
        files = {name: text for name, text in problem.files.items() if name not in ("reference.py", "eval.py")}
        self.sides[B].load(
            {**files, problem.submission_name: source}, problem.submission_name, problem.entry, problem.test_timeout_s
        )

    def load_baseline(self) -> None:
        """Ours, in the same way. Without a tuned baseline the reference is the baseline."""
        problem = self.problem
        source = problem.baseline or f"from reference import ref_kernel as {problem.entry}\n"
        files = (
            dict(problem.files)
            if problem.baseline is None
            else {n: t for n, t in problem.files.items() if n != "reference.py"}
        )
        try:
            self.sides[A].load({**files, problem.submission_name: source}, problem.submission_name, problem.entry, 120)
        except Fault as fault:
            raise OracleFailed(f"the baseline does not load: {fault}") from None

    # -- checking ------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """All public cases, then secret ones; the first wrong one ends it. Raises Fault."""
        planned = plan_checks(self.problem, self.chance)
        stage = Stage.begin("Checking", self.problem.test_timeout_s)
        for done, plan in enumerate(planned):
            self.emit("checking", "", {"done": done, "total": len(planned)})
            if not plan.public:
                self.sides[B].stop_logs()
            given = self.oracle.make(plan.case, plan.seed)
            call, output = self._call(B, given, stage, 0, public=plan.public)
            check = self._judge_output(given, call, output, public=plan.public)
            self.oracle.release(given)
            check["arguments"] = dict(plan.case)
            self.evidence["checks"].append(check)
            if not check["good"]:
                return
        self.emit("checking", "", {"done": len(planned), "total": len(planned)})

    def _call(
        self, side: str, given: Input, stage: Stage, buffer: int, *, public: bool = False, idle: bool = False
    ) -> tuple[Call, Buffer]:
        """One call. What a tenant says of a secret case reaches nobody: it may hold the case's data."""
        tenant, output = self.sides[side], self._buffer(buffer, given.layout.output_bytes)
        try:
            tenant.lay_out(given.layout, stage.left_s())
            return tenant.call(given, output, stage.left_s(), idle=idle), output
        except Fault as fault:
            stage.left_s()  # where it was the stage that ran out, its message says so
            if side == A:
                raise OracleFailed(f"the baseline failed: {fault}") from None
            if public:
                raise fault.about(given.case) from None
            raise fault.without_data(compare.size_class(given.layout)) from None

    def _buffer(self, index: int, size: int) -> Buffer:
        """Private memory for an output, touched beforehand: no page fault of ours inside the clock."""
        while len(self._buffers) <= index:
            self._buffers.append(self.memory.buffer(size))
        if len(self._buffers[index]) < size:
            self._buffers[index] = self.memory.buffer(size)
        return self._buffers[index]

    def _judge_output(self, given: Input, call: Call, output: Buffer, *, public: bool) -> dict[str, Any]:
        """One entry of evidence["checks"]: our own comparison, or the problem's where it brings one."""
        found = self.memory.compare(given.layout, given.expected, output, self.problem.tolerance)
        entry: dict[str, Any] = {
            "case": given.case,
            "seed": given.seed,
            "public": public,
            "good": True,
            "reason": "",
            "message": "",
            "figures": [figures.to_json(public=public) for figures in found],
        }
        if call.late:
            _fail(
                entry,
                "late_write",
                "The output changed after the call had returned; finish all work before you return.",
            )
            entry["outcome"] = "policy"
        elif self.oracle.checks:
            good, said = self.oracle.check(given.number, given.layout, output)
            if not good:
                _fail(
                    entry,
                    "check_failed",
                    f"Case {given.case}: {said}" if public else "A secret case: the problem's own check failed.",
                )
        else:
            for index, figures in enumerate(found):
                if not figures.good:
                    explained = (
                        compare.explain(given.case, figures, index, len(found))
                        if public
                        else compare.explain_secret(figures)
                    )
                    _fail(entry, figures.reason, explained)
                    break
        if entry["good"] and not call.inputs_kept:
            _fail(entry, "input_changed", "Your kernel changed its inputs; they must be left as they were given.")
        return entry

    # -- timing --------------------------------------------------------------------------------------------------

    def measure(self, reference_ns: dict[str, float]) -> None:
        """All benchmark cases. A wrong output in a timed call ends it as in `check`. Raises Fault, OracleFailed."""
        stage = Stage.begin("Timing", self.problem.ranked_timeout_s)
        total = len(self.problem.benchmarks)
        for index, case in enumerate(self.problem.benchmarks):
            self.emit("timing", case_name(case), {"case": index + 1, "cases": total})
            timing: Evidence = {
                "case": case_name(case),
                "reference_ns": reference_ns.get(case_name(case)),
                "idle": [],
                "quads": [],
            }
            self.evidence["timing"].append(timing)
            if not self._measure_case(case, timing, stage, {"case": index + 1, "cases": total}):
                return

    def _measure_case(self, case: Case, timing: Evidence, stage: Stage, progress: dict[str, Any]) -> bool:
        """False when an output was wrong."""
        for call, (given, _) in self._block(A, case, self.profile.idle_calls, stage, idle=True):
            self.oracle.release(given)
            timing["idle"].append(_sample(call))
        times = self._clock_of(timing)
        slower = 0.0
        for side in (A, B):
            warm = self._block(side, case, self.chance.randint(*WARM_UP), stage)
            if not self._all_right(side, warm):
                return False
            slower = max(slower, times(_sample(warm[-1][0])))
        schedule = Schedule.after_warm_up(self.profile, slower)
        timing["calls"] = schedule.calls
        while (block := schedule.next()) is not None:
            calls = self._block(block.side, case, block.calls, stage)
            if not self._all_right(block.side, calls):
                return False
            samples = [_sample(call) for call, _ in calls]
            schedule.took([times(sample) for sample in samples], sum(sample[0] for sample in samples) / 1e9)
            self._store(timing, block.side, samples)
            if len(timing["quads"][-1]) == len(ABBA):
                self.emit(
                    "timing",
                    timing["case"],
                    {**progress, "quads": len(schedule.quads), "quads_at_most": self.profile.most_quads},
                )
        return True

    def _clock_of(self, timing: Evidence) -> Callable[[list[int]], float]:
        """A call's time as it is known while measuring goes on."""
        clock, certified = self.evidence["clock"], self.evidence["certified"]
        constant = certificate.constant_ns(timing, certified=certified)
        return lambda sample: certificate.at_once_ns(sample, constant, clock=clock, certified=certified)

    def _block(
        self, side: str, case: Case, calls: int, stage: Stage, *, idle: bool = False
    ) -> list[tuple[Call, tuple[Input, Buffer]]]:
        """Inputs first, then call after call with nothing of ours in between but the way of a call itself."""
        given = [self.oracle.make(case, fresh_seed(self.chance)) for _ in range(calls)]
        for index, one in enumerate(given):
            self._buffer(index, one.layout.output_bytes)
        with _no_collector():
            taken = [self._call(side, one, stage, index, idle=idle) for index, one in enumerate(given)]
        return [(call, (one, output)) for (call, output), one in zip(taken, given, strict=True)]

    def _all_right(self, side: str, calls: list[tuple[Call, tuple[Input, Buffer]]]) -> bool:
        for call, (given, output) in calls:
            entry = self._judge_output(given, call, output, public=False)
            self.oracle.release(given)
            if not entry["good"]:
                if side == A:
                    raise OracleFailed(f"the baseline is wrong: {entry['message']}")
                entry["message"] = f"While it was timed: {entry['message']}"
                self.evidence["checks"].append(entry)
                return False
        return True

    @staticmethod
    def _store(timing: Evidence, side: str, samples: list[list[int]]) -> None:
        quads = timing["quads"]
        if not quads or len(quads[-1]) == len(ABBA):
            quads.append([])
        quads[-1].append({"side": side, "calls": samples})


def _sample(call: Call) -> list[int]:
    """As evidence stores it: certificate.py names the columns."""
    return [call.wall_ns, call.put_ns, call.take_ns, call.inner_ns, call.probe_ns]


def _fail(entry: dict[str, Any], reason: str, message: str) -> None:
    entry.update(good=False, reason=reason, message=message)


@contextmanager
def _no_collector() -> Any:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
