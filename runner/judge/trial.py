"""One attempt in the judge's hands: the correctness cases, then the timed ones. Produces the evidence, not the verdict.

Every call of either kind is the same call: fresh inputs, poisoned output, the whole output compared afterwards. The
comparing happens between blocks, with every tenant frozen.
"""

from __future__ import annotations

import copy
import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from problems.spec import MODEL, Case, Problem, case_name
from runner.evidence import blame, certificate, contexts, throttle
from runner.evidence.certificate import WALL
from runner.evidence.schedule import ABBA, ABIIBA, A, B, I, Profile, Schedule
from runner.judge import evidence, own_check, timing
from runner.judge.cases import fresh_seed, plan_checks
from runner.judge.data import compare, explain
from runner.judge.data.call import Call, Input
from runner.judge.data.clock import Stopwatch, WallClock
from runner.judge.data.criterion import Rule
from runner.judge.data.faults import Fault, IncumbentFailed, OracleFailed
from runner.judge.data.layout import Layout
from runner.judge.data.memory import Buffer, Memory, NoMemory
from runner.judge.device.processor import Watch
from runner.judge.device.telemetry import Telemetry
from runner.judge.sides.copy_times import Copies
from runner.judge.sides.oracle import Oracle
from runner.judge.sides.task_files import baseline_files, files_beside
from runner.judge.sides.tenant import Tenant
from runner.judge.time_budget import Stage
from runner.judge.timed_side import TimedSide, pause_for
from sandbox.errors import SandboxError

CHANGED_IN_PLACE: Final = (
    "This output is what a call of Model changes in place, such as running statistics: ModelNew must change it alike."
)
LARGE: Final = 4  # a call whose data take more than this part of the judge's snapshots
MOST_IDLE: Final = 8  # times the profile's idle calls, where most are disturbed
IDLE_S: Final = 3.0  # and for no longer, since the stage's time limit runs
IDLE_REST_S: Final = 0.05  # before more of them: another program's turn passes
COMPILE_S: Final = 120.0  # for the compiler, where a submission is compiled before it is loaded

log = logging.getLogger("runner.trial")

Emit = Callable[[str, str, dict[str, Any]], None]  # state, message, data
Evidence = dict[str, Any]


class Trial:
    """Use: `load`, `check`, and for a timed mode `measure`; when all containers but the baseline's are dead,
    `time_copies`; then read `evidence`."""

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
        another_oracle: Callable[[], Oracle] | None = None,
    ) -> None:
        """`another_oracle` closes the one there is and starts another, for checks that fail (own_check.py)."""
        self.problem = problem
        self.memory = memory
        self.oracle = oracle
        self.another_oracle = another_oracle
        self.sides = sides
        self.profile = profile.within(problem.ranked_timeout_s, len(problem.benchmarks))
        self.emit = emit
        self.chance = random.SystemRandom()
        self.comparing = Stopwatch()
        self.queueing = True  # do devices get their work beforehand, in this case?
        self._buffers: list[Buffer] = []
        self._copies: list[tuple[Evidence, Copies]] = []
        self._called: set[tuple[str, str]] = set()  # side and case
        self._each_bytes = 0  # that the judge keeps of a call, at the most so far
        self._cancels = False  # is an output so near nothing that only double precision tells right from wrong?
        self.evidence = evidence.blank(problem, mode, self.profile)

    @property
    def order(self) -> tuple[str, ...]:
        return ABIIBA if I in self.sides else ABBA

    # -- building ------------------------------------------------------------------------------------------------

    def load_oracle(self) -> None:
        """The problem into its container. A Model has one seed a run: every side constructs it with that."""
        seed = fresh_seed(self.chance) if self.problem.interface == MODEL else None
        self.evidence["init_seed"] = seed
        self.oracle.load(dict(self.problem.files), seed)

    def load_incumbent(self, source: str) -> None:
        try:
            self.load(source, I)
        except Fault as fault:
            raise IncumbentFailed(fault.outcome, fault.reason, fault.share) from None

    def load(self, source: str, side: str = B) -> None:
        """A submission into its container. The problem's files go along, the reference where it is needed there."""
        problem = self.problem
        tenant, given = self.sides[side], {**files_beside(source, problem.files), problem.submission_name: source}
        if problem.build is None:
            tenant.load(given, problem.submission_name, problem.entry, problem.interface, problem.test_timeout_s)
            return
        flags = problem.build.flags("g++" if self.memory.device == "cpu" else "nvcc")
        build = {"sources": list(problem.build.sources), "flags": flags, "limit_s": COMPILE_S}
        longest_s = COMPILE_S + problem.test_timeout_s
        tenant.load(given, problem.submission_name, problem.entry, problem.interface, longest_s, build)

    def load_baseline(self) -> None:
        """Ours, in the same way."""
        problem = self.problem
        name, files = baseline_files(problem)
        try:
            self.sides[A].load(files, name, problem.entry, problem.interface, 120)
        except Fault as fault:
            raise OracleFailed(f"the baseline does not load: {fault}", fault.share) from None

    # -- checking ------------------------------------------------------------------------------------------------

    def check(self, telemetry: Telemetry) -> None:
        """All public cases, then secret ones; the first wrong one ends it. Raises Fault, OracleFailed; not where the
        device broke meanwhile, which sets it aside."""
        telemetry.begin()
        failed: Exception | None = None
        try:
            with self._tenants_memory():
                self._check()
        except timing.FAILURES as err:
            failed = err
        finally:
            ruling = throttle.rule(telemetry.end(), None)
        if blame.breaks(ruling):
            self.evidence["set_aside"] = ruling.reason
        elif failed is not None:
            raise failed

    def _check(self) -> None:
        planned = plan_checks(self.problem, self.chance)
        stage = self._stage("Checking", self.problem.test_timeout_s)
        for done, plan in enumerate(planned):
            self.emit("checking", "", {"done": done, "total": len(planned)})
            if not plan.public:
                self.sides[B].stop_logs()
            given = self.oracle.make(plan.case, plan.seed, fp64=self.rule(plan.case).fp64(timed=False))
            self._each_bytes = max(self._each_bytes, _kept_bytes(given.layout))
            call, output = self.call(B, given, stage, 0, public=plan.public)
            check = self.judge_output(given, call, output, public=plan.public)
            self.oracle.release(given)
            check["arguments"] = dict(plan.case)
            self.evidence["checks"].append(check)
            if not check["good"]:
                return
        self.emit("checking", "", {"done": len(planned), "total": len(planned)})

    def _stage(self, name: str, limit_s: float) -> Stage:
        sides = list(self.sides.values())
        meters = [side.meter for side in sides if side.meter is not None]
        watch = None
        if self.oracle.meter is not None:
            watch = Watch(meters, self.oracle.meter, lambda: sum(side.polled_ns for side in sides))
        return Stage(name, limit_s, self.oracle.asked, watch=watch)

    def fresh(self, case: Case, count: int, *, near_to: int | None = None, strictly: int | None = None) -> list[Input]:
        """So many inputs that no one has seen; behind them, where `near_to` is the place of one, another like that but
        for a few elements. The one at the place `strictly` is held against double precision, as in a check."""
        seeds: list[tuple[int, int | None]] = [(fresh_seed(self.chance), None) for _ in range(count)]
        if near_to is not None:
            seeds.append((seeds[near_to][0], fresh_seed(self.chance)))
        rule = self.rule(case)
        last = len(seeds) if strictly is None else strictly
        made = self.oracle.make_all(case, seeds[:last] + seeds[last + 1 :], fp64=rule.fp64(timed=not self._cancels))
        made[last:last] = self.oracle.make_all(case, seeds[last : last + 1], fp64=rule.fp64(timed=False))
        return made

    def call(
        self,
        side: str,
        given: Input,
        stage: Stage,
        buffer: int,
        *,
        public: bool = False,
        idle: bool = False,
        hot: bool = False,
    ) -> tuple[Call, Buffer]:
        """One call. What a tenant says of a secret case reaches nobody: it may hold the case's data."""
        tenant, output = self.sides[side], self.buffer(buffer, given.layout.output_bytes)
        is_first = not idle and (side, given.case) not in self._called
        try:
            with stage.spent_by(side):
                tenant.lay_out(given.layout, stage.left_s())
                limit_s = stage.left_s(is_first=is_first)
                answer = tenant.call(given, output, limit_s, idle=idle, hot=hot, queue=self.queueing)
            self._called |= {(side, given.case)} if is_first else set()
            return answer, output
        except Fault as fault:
            stage.left_s()  # where it was the stage that ran out, it says so, and whose time it was
            if side == A:
                raise OracleFailed(f"the baseline failed: {fault}", fault.share) from None
            if side == I:
                raise IncumbentFailed(fault.outcome, fault.reason, fault.share) from None
            if public:
                raise fault.about(given.case) from None
            raise fault.without_data(explain.size_class(given.layout)) from None

    def rule(self, case: Case) -> Rule:
        return Rule.of(self.problem, case, own_check=self.oracle.checks)

    def buffer(self, index: int, size: int) -> Buffer:
        """Private memory for an output, touched beforehand: no page fault of ours inside the clock."""
        while len(self._buffers) <= index:
            self._buffers.append(self.memory.buffer(size))
        if len(self._buffers[index]) < size:
            self._buffers[index] = self.memory.buffer(size)
        return self._buffers[index]

    def judge_output(self, given: Input, call: Call, output: Buffer, *, public: bool, side: str = B) -> dict[str, Any]:
        """One entry of evidence["checks"]: our own comparison, or the problem's where it brings one."""
        rule = self.rule(given.arguments)
        with self.comparing.running():
            found = self.memory.compare(given, output, rule)
        self._cancels |= any(one.references_own for one in found)
        entry = evidence.blank_check(given, found, public=public)
        if call.late:
            _fail(
                entry,
                "late_write",
                "The output changed after the call had returned; finish all work before you return.",
            )
            entry["outcome"] = "policy"
        elif self.oracle.checks:
            good, said = own_check.ask(self, given, output, side)
            if not good:
                _fail(
                    entry,
                    "check_failed",
                    f"Case {given.case}: {said}" if public else "A secret case: the problem's own check failed.",
                )
        if entry["good"]:
            for index, figures in enumerate(found):
                if not figures.good:
                    _fail(entry, figures.reason, self._explained(given, found, index, public=public))
                    break
        if entry["good"] and side == B and given.expected64 is not None:
            case = given.case if public else "a secret case"
            self._note(explain.precision_findings(case, given.layout, found, rule))
        if entry["good"] and not call.inputs_kept:
            _fail(entry, "input_changed", "Your kernel changed its inputs; they must be left as they were given.")
        return entry

    def _explained(self, given: Input, found: list[compare.Figures], index: int, *, public: bool) -> str:
        """What is wrong with this output, for the author."""
        figures = found[index]
        said = explain.explain_secret(figures)
        if public:
            said = explain.explain(given.case, figures, index, len(found))
        slot = [slot for slot in given.layout.outputs if slot.nbytes][index]
        is_state = self.problem.interface == MODEL and slot.role == "inout"
        return f"{said} {CHANGED_IN_PLACE}" if is_state else said

    def _note(self, found: list[dict[str, Any]]) -> None:
        """Each finding once a case, however many calls show it."""
        known = {(finding["rule"], finding["case"]) for finding in self.evidence["findings"]}
        self.evidence["findings"] += [one for one in found if (one["rule"], one["case"]) not in known]

    # -- timing --------------------------------------------------------------------------------------------------

    def measure(self, telemetry: Telemetry) -> None:
        """All benchmark cases, in an order that is drawn. A wrong output in a timed call ends it as in `check`.

        Raises Fault, OracleFailed.
        """
        stage = self._stage("Timing", self.problem.ranked_timeout_s)
        cases = self.problem.benchmarks
        apart = contexts.of_evidence(self.evidence)
        self.evidence["telemetry"] = telemetry.level
        self.evidence["timing"] = [timing.blank(case_name(case), dict(case)) | copy.deepcopy(apart) for case in cases]
        for done, index in enumerate(self.chance.sample(range(len(cases)), len(cases))):
            progress = {"case": done + 1, "cases": len(cases)}
            self.emit("timing", case_name(cases[index]), progress)
            entry = self.evidence["timing"][index]
            with self._tenants_memory():
                wrong = self._measure_case(cases[index], entry, stage, telemetry, progress)
            self.evidence["telemetry"] = telemetry.level  # it may have fallen
            if wrong is not None:
                wrong["message"] = f"While it was timed: {wrong['message']}"
                self.evidence["checks"].append(wrong)
                return
            self.evidence["set_aside"] = timing.unfit(entry)
            if self.evidence["set_aside"]:
                return

    def _measure_case(
        self, case: Case, entry: Evidence, stage: Stage, telemetry: Telemetry, progress: dict[str, Any]
    ) -> Evidence | None:
        """The entry of a wrong output, or None."""
        self.queueing = True
        sides = {name: TimedSide(self, name, case, stage) for name in self.sides}
        entry["idle"], given = self._idle(sides[A])
        entry["probe_limit_ns"] = blame.probe_limit_ns(entry["idle"], contexts.samples_of(self.evidence))
        layout = given[0].layout
        entry |= {"input_bytes": layout.input_bytes, "output_bytes": layout.output_bytes}
        entry["eager_ns"] = min(one.eager_ns for one in given)  # a disturbed machine makes nobody look too fast
        most_calls = self._most_calls(_kept_bytes(layout))
        plan = Schedule(self.profile, self.order, most_calls=most_calls)
        if self.memory.moves:
            for side in self.chance.sample(list(sides.values()), len(sides)):
                if (unlike := side.visit(most_calls)) is not None:
                    return unlike

        def tell(quads: int) -> None:
            most = self.profile.most_quads
            most = most if quads <= most else max(quads, self.profile.noisy_quads)
            self.emit("timing", entry["case"], {**progress, "quads": quads, "quads_at_most": most})

        run = timing.CaseTiming(
            plan,
            sides,
            telemetry,
            WallClock(),
            self._times_of(entry),
            pause_for(telemetry),
            self.chance,
            entry,
            tell,
        )
        wrong = run.run()
        entry["queued"] = self.queueing
        entry["places"] = min(len(set(tenant.whereabouts)) for tenant in self.sides.values())
        if (made := Copies.of(case, layout, self.sides)) is not None:
            self._copies.append((entry, made))
        return wrong

    def time_copies(self) -> None:
        """What the judge's own copying costs in each case, when no code of others runs any more: where what was
        measured can become a score. Raises SandboxError, OracleFailed."""
        if not self.counts:
            return
        try:
            for entry, made in self._copies:
                (given,) = self.fresh(made.case, 1)
                into = self.buffer(0, given.layout.output_bytes)
                entry["copies"] = made.time(self.sides, given, into)
                self.oracle.release(given)
        except (NoMemory, RuntimeError) as err:  # of a device, which nobody's code is to blame for any more
            raise SandboxError(f"the judge's own copies could not be timed: {err}") from None

    @property
    def counts(self) -> bool:
        """Did nothing happen that decides the verdict, whatever the times are?"""
        found = self.evidence
        return not (found["fault"] or found["set_aside"]) and all(check["good"] for check in found["checks"])

    def _idle(self, side: TimedSide) -> tuple[list[list[int]], list[Input]]:
        """Calls before anything is timed, and their inputs. As many at a time as there is room for inputs as large as
        the largest that was checked. More, with rests between, while the machine disturbs most of them: what they cost
        is taken off every time of the case."""
        samples: list[list[int]] = []
        given: list[Input] = []
        wanted, ends = self.profile.idle_calls, time.monotonic() + IDLE_S
        while len(samples) < wanted:
            side.make_ready(min(wanted - len(samples), self._most_calls(self._each_bytes)))
            samples += side.run_block(idle=True)
            given += side.drop()
            is_last = wanted >= MOST_IDLE * self.profile.idle_calls or time.monotonic() > ends
            if len(samples) >= wanted and not is_last and self._idle_is_disturbed(samples):
                time.sleep(IDLE_REST_S)
                wanted += self.profile.idle_calls
        return samples, given

    def _idle_is_disturbed(self, samples: list[list[int]]) -> bool:
        certified = self.evidence["certified"]
        return self.profile.clock == WALL and not certificate.is_constant_known(samples, certified=certified)

    def _most_calls(self, each_bytes: int) -> int:
        """How many calls of a block the judge's memory holds."""
        return int(max(self.memory.snapshot_bytes // max(each_bytes, 1) - 1, 1))

    @contextmanager
    def _tenants_memory(self) -> Iterator[None]:
        """What the judge cannot allocate while a tenant lives, the tenant took: no free retries. Unless the data of a
        call are so large that the problem took it."""
        try:
            yield
        except NoMemory as err:
            log.warning("%s", err)
            if self._each_bytes > self.memory.snapshot_bytes // LARGE:
                raise OracleFailed(
                    f"with {self._each_bytes >> 20} MiB of inputs and outputs a call too little of this hardware's "
                    "memory is left for the judge; choose smaller sizes"
                ) from None
            raise Fault(
                "out_of_memory", "judge", "Your code left too little memory for the judge; allocate less."
            ) from None

    def _times_of(self, entry: Evidence) -> timing.Times:
        """A call's time as it is known while measuring goes on."""
        clock, certified = self.evidence["clock"], self.evidence["certified"]
        constant = certificate.constant_ns(entry, certified=certified)
        return lambda sample: certificate.at_once_ns(sample, constant, clock=clock, certified=certified)


def _kept_bytes(layout: Layout) -> int:
    """Of one call: inputs, what is expected, what came."""
    return layout.input_bytes + 2 * layout.output_bytes


def _fail(entry: dict[str, Any], reason: str, message: str) -> None:
    entry.update(good=False, reason=reason, message=message)
