"""One attempt in the judge's hands: correctness cases, then timed cases. Produces the evidence, not the verdict.

Every call of either kind is the same call: fresh inputs, poisoned output, the whole output compared afterwards. The
comparing happens between blocks, with every tenant frozen.
"""

import logging
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

from problems.spec import MODEL, Case, Problem, case_name
from runner.evidence import certificate, throttle
from runner.evidence.bar import is_out_of_reach
from runner.evidence.recorder import CaseRecorder
from runner.evidence.sample import WALL, Sample
from runner.evidence.schedule import ABBA, ABIIBA, UNFIT, A, B, I, Profile, Schedule
from runner.evidence.schema import Check, Evidence
from runner.judge import limits, timing
from runner.judge.calls import Calls, Stage
from runner.judge.cases import Planned, fresh_seed, plan_checks
from runner.judge.data import room
from runner.judge.data.call import Input, WallClock
from runner.judge.data.faults import (
    UNENDED,
    BaselineFull,
    Fault,
    IncumbentFailed,
    OracleFailed,
    OracleFull,
    TooLarge,
    of_baseline,
)
from runner.judge.data.layout import Layout
from runner.judge.data.memory import NoMemory
from runner.judge.data.room import Plan, Sizes
from runner.judge.device.processor import Watch
from runner.judge.device.telemetry import Telemetry
from runner.judge.sides.tenant import Copies
from runner.judge.timing import Shared, TimedSide, pause_for
from runner.wire import extends
from sandbox.container import SandboxError

LARGE: Final = 4  # a call whose data take more than this part of the judge's snapshots
MOST_IDLE: Final = 8  # times the profile's idle calls, if most of them are disturbed
IDLE_S: Final = 3.0  # at most, since the stage's time limit runs
IDLE_REST_S: Final = 0.05  # before further idle calls: another program's turn passes

BASELINE: Final = "submission.py"  # its file's name; it is Python in every problem
REFERENCE: Final = "reference.py"
NOT_THE_TENANTS: Final = (REFERENCE, "eval.py")  # except a reference that is imported
_ASKS: Final = re.compile(r"^[^\S\n]*+(from|import)[^\S\n]++reference\b", re.MULTILINE)  # within a line: linear
# Such code chooses its kernels by times of its first calls.
_TUNES: Final = re.compile(r"autotune|(benchmark|do_bench)\b|compile")
_DEFINES: Final = re.compile(  # also a call of `type` with a name and bases
    r"^[^\S\n]*+class\s|(?i:namedtuple)|make_dataclass|(?<![\w.])type\([^(),]*+,", re.MULTILINE
)

log = logging.getLogger("runner.trial")

Emit = Callable[[str, str, dict[str, Any]], None]  # state, message, data


class Trial:
    """Checks and timings of one attempt.

    Call `load`, `check`, and in a timed mode `measure`; then, when all containers but the baseline's are dead,
    `time_copies`. The result is `evidence`.
    """

    def __init__(self, calls: Calls, mode: str, *, profile: Profile, emit: Emit) -> None:
        self.calls = calls
        self.problem = problem = calls.problem
        self.profile = profile.within(problem.ranked_timeout_s, len(problem.benchmarks))
        self.emit = emit
        self.recorder = calls.recorder
        self.recorder.begin(mode=mode, ranking_by=problem.ranking_by, profile=self.profile)
        self._copies: list[tuple[CaseRecorder, Copies]] = []
        self._sizes = Sizes()  # the largest of the calls so far
        self._start: int | None = None  # free memory before any code of the job ran, in bytes
        self._taken = Counter[str]()  # bytes of a device's memory that the code of each side took since
        self._case: Case = {}  # the present one

    @property
    def evidence(self) -> Evidence:
        return self.recorder.evidence

    # -- building ------------------------------------------------------------------------------------------------

    def load_oracle(self) -> None:
        """Load the problem into its container. A Model has one seed per run, with which every side constructs it."""
        seed = fresh_seed(self.calls.chance) if self.problem.interface == MODEL else None
        self.recorder.add_circumstances(init_seed=seed)
        self.calls.oracle.load(dict(self.problem.files), seed)

    def load_incumbent(self, source: str) -> None:
        try:
            self.load(source, I)
        except Fault as fault:
            raise IncumbentFailed(fault.outcome, fault.reason, fault.share) from None

    def load(self, source: str, side: str = B, built: bytes = b"") -> None:
        """Load a submission into its container, with the problem's files and, if needed, the reference; `built`: with
        the files of its import ahead."""
        self._note_start()
        longest_s = self.problem.test_timeout_s + self.compiling_s(source)
        self.calls.sides[side].load(**self.sources(source), limit_s=longest_s, built=built)

    def compiling_s(self, source: str) -> float:
        """Return the time that this submission has for a compiler, beside the limit of its import."""
        return limits.COMPILE_S if self.problem.build is not None or extends(source) else 0.0

    def sources(self, source: str) -> dict[str, Any]:
        """Return all that a container needs to load a submission."""
        return to_load(self.problem, source, self.calls.memory.compiler)

    def load_baseline(self) -> None:
        """Load the baseline in the same way as a submission, unless a job before did. Without a tuned baseline the
        reference takes its place."""
        problem, side = self.problem, self.calls.sides[A]
        if side.baseline_of == problem.digest:
            side.is_loaded = True
            return
        name = problem.submission_name if problem.build is None else BASELINE
        original = "Model" if problem.interface == MODEL else "ref_kernel"
        source = problem.baseline
        if source is None:
            source = f"from reference import {original} as {problem.entry}\n"
        files = {**files_beside(source, problem.files), name: source}
        try:
            side.load(files, name, problem.entry, problem.interface, 120)
        except Fault as fault:
            raise of_baseline(fault, "the baseline does not load") from None
        if not any(_TUNES.search(text) for text in files.values()):
            side.baseline_of, side.free_before = problem.digest, self._start

    def _note_start(self) -> None:
        """Note how much memory is free before the first code of the job, beside the oracle's and the baseline's, which
        may know the problem already."""
        if self._start is None and (free := self.calls.memory.free_bytes()) is not None:
            self._start = free + self.calls.oracle.held_bytes
            baseline = self.calls.sides.get(A)
            if self.calls.memory.is_shared and baseline is not None and baseline.baseline_of:
                self._start = max(self._start, baseline.free_before or 0)
                self._charge(A)

    # -- checking ------------------------------------------------------------------------------------------------

    def check(self, telemetry: Telemetry) -> None:
        """Check all public cases, then secret cases, up to the first wrong output.

        Raises Fault and OracleFailed, unless the device broke meanwhile: then it is set aside.
        """
        telemetry.begin()
        failed: Exception | None = None
        try:
            with self._enough_memory():
                self._check()
                self._charge(B)
        except timing.FAILURES as err:
            failed = err
        finally:
            ruling = throttle.rule(telemetry.end(), None)
        if throttle.breaks(ruling):
            self.recorder.add_circumstances(set_aside=ruling.reason)
        elif failed is not None:
            raise failed

    def _check(self) -> None:
        planned = plan_checks(self.problem, self.calls.chance)
        stage = self._stage("Checking", self.problem.test_timeout_s)
        for done, plan in enumerate(planned):
            self.emit("checking", "", {"done": done, "total": len(planned)})
            if not plan.public:
                self.calls.sides[B].container.stop_logs()  # later output may hold data of secret cases
            if not self._check_case(plan, stage):
                return
        self.emit("checking", "", {"done": len(planned), "total": len(planned)})

    def _check_case(self, plan: Planned, stage: Stage) -> bool:
        """Check a case, and keep none of its memory. Returns whether the output was right."""
        self._begin(plan.case, stage)
        if self._is_large:
            self.calls.let_go()
        fp64 = self.calls.rule(plan.case).fp64(timed=False)
        (given,) = self.calls.make_all(plan.case, [(plan.seed, None)], fp64=fp64)
        self._note_sizes(given.layout)
        call, output = self.calls.call(B, given, stage, 0, public=plan.public)
        check = self.calls.judge_output(given, call, output, public=plan.public)
        self.calls.oracle.release(given)
        check.arguments = dict(plan.case)
        self.recorder.add_check(check)
        return check.good

    def _begin(self, case: Case, stage: Stage) -> None:
        """Begin a case: no code keeps memory of the case before, unless it holds tensors."""
        self._case = case
        for name, side in self.calls.sides.items():
            if self.calls.memory.is_shared and side.is_loaded:
                self.calls.forget(name, stage)
                self._charge(name)

    def _stage(self, name: str, limit_s: float) -> Stage:
        sides = list(self.calls.sides.values())
        meters = [side.meter for side in sides if side.meter is not None]
        watch = None
        if self.calls.oracle.meter is not None:
            watch = Watch(meters, self.calls.oracle.meter, lambda: sum(side.polled_ns for side in sides))
        return Stage(name, limit_s, self.calls.oracle.asked, watch=watch)

    # -- timing --------------------------------------------------------------------------------------------------

    def measure(self, telemetry: Telemetry, bar: float | None = None) -> None:
        """Time all benchmark cases in a random order. A wrong output in a timed call ends the timing, as in `check`.

        Cases that differ in their seeds alone are one case: each call draws a seed of its own. With a `bar`, a ratio of
        candidate to baseline, a first look comes before, and is all if it shows that the bar is out of reach.
        Raises Fault, OracleFailed.
        """
        self._charge(A)  # it was loaded since, maybe with an incumbent
        stage = self._stage("Timing", self.problem.ranked_timeout_s)
        if bar is not None:
            whole, self.profile = self.profile, self.profile.for_first_look
            self._measure(telemetry, stage)
            if not self.counts:
                return
            if is_out_of_reach(self.evidence, bar):
                self.recorder.add_circumstances(profile=self.profile, stopped_at=bar)
                return
            self.profile, self._copies = whole, []
        self._measure(telemetry, stage)

    def _measure(self, telemetry: Telemetry, stage: Stage) -> None:
        by_name = {case_name(case): case for case in reversed(self.problem.benchmarks)}  # the last place counts
        cases = [*by_name.values()][::-1]
        self.recorder.add_circumstances(telemetry=telemetry.level)
        recorders = self.recorder.begin_timing({case_name(case): dict(case) for case in cases})
        for done, index in enumerate(self.calls.chance.sample(range(len(cases)), len(cases))):
            progress = {"case": done + 1, "cases": len(cases)}
            self.emit("timing", case_name(cases[index]), progress)
            with self._enough_memory():
                wrong = self._measure_case(cases[index], recorders[index], stage, telemetry, progress)
                if wrong is None:
                    self.calls.oracle.rest()
            self.recorder.add_circumstances(telemetry=telemetry.level)  # it may have fallen
            if wrong is not None:
                wrong.message = f"While it was timed: {wrong.message}"
                self.recorder.add_check(wrong)
                return
            ended = recorders[index].timing
            self.recorder.add_circumstances(set_aside=ended.ended_why if ended.ended == UNFIT else "")
            if self.evidence.set_aside:
                return

    def _measure_case(
        self, case: Case, recorder: CaseRecorder, stage: Stage, telemetry: Telemetry, progress: dict[str, Any]
    ) -> Check | None:
        """Time one case. Returns the check of a wrong output, or None."""
        self._begin(case, stage)
        self.calls.queueing = self.calls.in_series = True
        (first,) = self.calls.make_all(case, [(fresh_seed(self.calls.chance), None)], fp64="")
        self.calls.oracle.release(first)
        self._note_sizes(first.layout)
        del first  # it would hold its buffers until the case ends, beyond the plan
        self.calls.plan = room.BARE if self._is_large else Plan(self._most_calls)  # until all sides were called
        sides = {name: TimedSide(self.calls, name, case, stage) for name in self.calls.sides}
        idle, given = self._idle(sides[A])
        own_calls = [sample for samples in self.evidence.own_calls.values() for sample in samples]
        recorder.add(idle=idle, probe_limit_ns=throttle.probe_limit_ns(idle, own_calls))
        layout = given[0].layout
        eager_ns = min(one.eager_ns for one in given)  # least: a disturbance makes no code look fast
        recorder.add(input_bytes=layout.input_bytes, output_bytes=layout.output_bytes, eager_ns=eager_ns)
        if self.calls.memory.moves:
            for name in self.calls.chance.sample(list(sides), len(sides)):
                if (unlike := sides[name].visit(self._most_calls)) is not None:
                    return unlike
                self._charge(name)
        self.calls.oracle.forget()
        self.calls.plan = self._planned(self._note_sizes(layout))  # the calls may have shown that all need doubles
        recorder.add(given_up=self.calls.plan.given_up)
        shared = Shared(self.calls)
        if I not in sides:  # an incumbent, which shares none, would be treated unlike the candidate
            sides[A].shared = sides[B].shared = shared
        order = ABIIBA if I in self.calls.sides else ABBA
        plan = Schedule(self.profile, order, most_calls=self.calls.plan.calls, saves_inputs=True)

        def tell(quads: int) -> None:
            most = self.profile.most_quads
            most = most if quads <= most else max(quads, self.profile.noisy_quads)
            self.emit("timing", recorder.timing.case, {**progress, "quads": quads, "quads_at_most": most})

        clock, certified = self.evidence.clock, self.evidence.certified
        constant_ns = certificate.constant_ns(idle, certified=certified)
        times = partial(Sample.at_once_ns, constant_ns=constant_ns, clock=clock, certified=certified)
        pause, chance = pause_for(telemetry), self.calls.chance
        run = timing.CaseTiming(plan, sides, telemetry, WallClock(), times, pause, chance, recorder, tell)
        wrong = run.run()
        shared.drop()
        places = min(len(set(tenant.whereabouts)) for tenant in self.calls.sides.values())
        recorder.add(queued=self.calls.queueing, places=places, ranks=self.calls.memory.ranks)
        if (made := Copies.of(case, layout, self.calls.sides)) is not None:
            self._copies.append((recorder, made))
        return wrong

    def time_copies(self) -> None:
        """Time the judge's own copying in each case, after all foreign code has ended, if the times can become a score.

        Raises SandboxError and OracleFailed.
        """
        if not self.counts:
            return
        try:
            for recorder, made in self._copies:
                (given,) = self.calls.fresh(made.case, 1)
                into = self.calls.buffer(0, given.layout.output_bytes)
                recorder.add(copies=made.time(self.calls.sides, given, into))
                self.calls.oracle.release(given)
        except (NoMemory, RuntimeError) as err:  # of a device; no code can be to blame for it any more
            raise SandboxError(f"the judge's own copies could not be timed: {err}") from None

    @property
    def counts(self) -> bool:
        """Return whether the verdict still depends on the times."""
        return not (self.evidence.fault or self.evidence.set_aside) and self.evidence.is_good

    def _idle(self, side: TimedSide) -> tuple[list[Sample], list[Input]]:
        """Make the idle calls before the timing, and return their samples and inputs.

        A block has as many calls as there is room for, with inputs as large as the largest that was checked. While the
        machine disturbs most of the calls, further blocks follow after rests: the cost of idle calls is taken off every
        time of the case.
        """
        samples: list[Sample] = []
        given: list[Input] = []
        wanted, ends = self.profile.idle_calls, time.monotonic() + IDLE_S
        certified = self.evidence.certified
        while len(samples) < wanted:
            side.make_ready(min(wanted - len(samples), self._most_calls))
            samples += side.run_block(idle=True)
            given += side.drop()
            is_last = wanted >= MOST_IDLE * self.profile.idle_calls or time.monotonic() > ends
            if len(samples) < wanted or is_last or self.profile.clock != WALL:
                continue
            if not certificate.is_constant_known(samples, certified=certified):
                time.sleep(IDLE_REST_S)
                wanted += self.profile.idle_calls
        return samples, given

    def _note_sizes(self, layout: Layout) -> Sizes:
        """Return a call's sizes, after they have raised the largest so far."""
        sizes = Sizes.of(layout, own_check=self.calls.oracle.checks, all_doubles=self.calls.cancels)
        self._sizes = self._sizes.most(sizes)
        return sizes

    @property
    def _most_calls(self) -> int:
        """The number of calls of a block that the judge's memory holds, with the largest data so far."""
        return room.most_calls(self._sizes.kept, self._snapshot_bytes)

    @property
    def _is_large(self) -> bool:
        """Whether the judge frees its buffers before each request, since data are large for its memory."""
        return self._sizes.kept > self._snapshot_bytes // LARGE

    @property
    def _snapshot_bytes(self) -> int:
        """Memory of one block before a case is planned. Of shared memory, half of the free is left to all code."""
        memory = self.calls.memory
        free = memory.free_bytes() if memory.is_shared else None
        return memory.snapshot_bytes if free is None else min(memory.snapshot_bytes, free // 2)

    def _planned(self, sizes: Sizes) -> Plan:
        """Return the plan of a timed case, by the memory that is free after all sides have been called.

        A submission that takes more than it may gets no defence given up: then, NoRoom is raised.
        """
        memory = self.calls.memory
        free = memory.free_bytes()
        lean_calls = self.profile.lean_calls if all(side.leans for side in self.calls.sides.values()) else 0
        plan = room.plan(
            sizes,
            free=None if free is None else free + max(self._taken[B] - self._allowed(sizes), 0),
            snapshot_bytes=memory.snapshot_bytes,
            calls=self.profile.most_calls + lean_calls,
            oracle_bytes=self.calls.oracle.peak_bytes,
            check_bytes=self.calls.oracle.check_bytes,
        )
        if free is not None and plan.needs(sizes) > free:
            raise room.NoRoom(plan.needs(sizes), free)
        return plan

    def _allowed(self, sizes: Sizes) -> int:
        """Return the bytes that the submission may take of the device's memory, beside its regions: its share, or as
        much as the baseline took and libraries. Without a baseline, the reference's peak in the oracle counts."""
        start = self._start or 0
        known = self._taken[A] if A in self.calls.sides else self.calls.oracle.peak_bytes
        return max(sizes.of_a_side(start), known + int(start * room.CODE))

    def _charge(self, side: str) -> None:
        """Count the memory that is gone since the last account as this side's: all other sides were frozen."""
        free = self.calls.memory.free_bytes() if self.calls.memory.is_shared else None
        if free is not None and self._start is not None:
            used = self._start - free - self.calls.oracle.held_bytes
            self._taken[side] += used - sum(self._taken.values())

    @contextmanager
    def _enough_memory(self) -> Iterator[None]:
        """Blame missing memory on the submission if it took too much, and on no side if the data are too large."""
        try:
            yield
        except NoMemory as err:
            raise self._short_of_memory(err, room.CHECKED.needs(self._sizes)) from None
        except room.NoRoom as err:
            raise self._short_of_memory(err, err.need) from None
        except (OracleFull, BaselineFull, Fault) as err:
            if not self.calls.memory.is_shared or (isinstance(err, Fault) and err.reason != "allocation"):
                raise  # a container's own limit, or no want of memory
            need = None if isinstance(err, OracleFull) else room.CHECKED.needs(self._sizes)
            raise self._short_of_memory(err, need) from None

    def _short_of_memory(self, err: Exception, need: int | None) -> Exception:
        """Return the error of a case that finds too little memory. `need`: of the judge; None: the oracle had too
        little, and needs more than it took at most and was left."""
        log.warning("%s", err)
        with suppress(OracleFailed):  # what it makes ahead takes memory that would be charged to the submission
            self.calls.oracle.rest()
        self._charge(B)
        memory, oracle, start = self.calls.memory, self.calls.oracle, self._start
        if (free := memory.free_bytes()) is None or start is None:
            return TooLarge(f"this case needs more memory than is free ({err}); choose smaller sizes")
        least = oracle.peak_bytes + free if need is None else need
        if not memory.is_shared and least <= start:  # no container takes from it beyond its own limit
            return SandboxError(
                f"this case needs {room.in_gib(least)} of the host's memory, {room.in_gib(free)} are free, and "
                f"{room.in_gib(start)} were before the job: end the programs that took it"
            )
        too_large = TooLarge(room.refusal(least, free, start, where="device" if memory.is_shared else "host"))
        taken, had, beside = self._taken[B], self._taken[B] + (memory.unused_bytes() or 0), {*self._taken} - {B}
        if A in self.calls.sides and (isinstance(err, Fault) or taken > self._allowed(self._sizes)):
            try:
                self._call_baseline(err)
            except (NoMemory, OracleFull, BaselineFull):
                return too_large
            least = oracle.peak_bytes if need is None else need
        allowed = self._allowed(self._sizes)
        if isinstance(err, Fault):  # the submission's own allocation failed
            return err if had >= allowed else too_large
        others = oracle.held_bytes + sum(self._taken[side] for side in beside)
        if room.is_submissions_fault(least, taken=taken, allowed=allowed, others=others, start=start):
            return Fault("out_of_memory", "judge", room.left_too_little(least, taken, free))
        return too_large

    def _call_baseline(self, err: BaseException | None) -> None:
        """Find what the baseline takes in this case: it is called in the place of the submission, whose container
        ends."""
        while err is not None:
            traceback.clear_frames(err.__traceback__)  # they hold buffers of the case
            err = err.__context__
        self.calls.let_go()
        container = self.calls.sides[B].container
        container.kill()
        if not container.wait_dead():
            raise Fault("policy", "unfreezable", UNENDED)
        self.calls.oracle.load(dict(self.problem.files), self.evidence.init_seed)  # frees what it keeps
        self._charge(B)
        if not self.calls.sides[A].is_loaded:
            self.load_baseline()
        (given,) = self.calls.make_all(self._case, [(fresh_seed(self.calls.chance), None)], fp64="")
        stage = Stage("A call of the baseline", self.problem.test_timeout_s, self.calls.oracle.asked)
        self.calls.call(A, given, stage, 0)
        self._charge(A)


def to_load(problem: Problem, source: str, compiler: str) -> dict[str, Any]:
    """Return all that a container needs to load a submission of this problem."""
    build = None
    if problem.build is not None:
        sources, flags = list(problem.build.sources), problem.build.flags(compiler)
        build = {"compiler": compiler, "sources": sources, "flags": flags, "limit_s": limits.COMPILE_S}
    return {
        "files": {**files_beside(source, problem.files), problem.submission_name: source},
        "submission": problem.submission_name,
        "entry": problem.entry,
        "interface": problem.interface,
        "build": build,
    }


def files_beside(source: str, files: Mapping[str, str]) -> dict[str, str]:
    """Return the files beside a submission: the problem's files, with its reference only if the submission imports it,
    or if the reference defines classes, which the data may be made of."""
    needed = _ASKS.search(source) or _DEFINES.search(files.get(REFERENCE, ""))
    left_out = NOT_THE_TENANTS[1:] if needed else NOT_THE_TENANTS
    return {name: text for name, text in files.items() if name not in left_out}
