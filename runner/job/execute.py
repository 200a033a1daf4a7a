"""Course of a job: building, checking, timing, verdict, report, without the site.

A daemon's jobs run in a process of their own (runner/job/judge_main.py), `runner once` in the caller's.
"""

import itertools
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from typing import Any, Final

from problems.fields import ProblemError
from problems.spec import Problem, in_python, needs_gpu
from runner import config
from runner.admission import examine
from runner.evidence import certificate, rules, speed_of_light, verdict
from runner.evidence.recorder import Recorder
from runner.evidence.records import INCUMBENT_FAILED
from runner.evidence.schedule import A, B, I
from runner.evidence.schema import Evidence
from runner.host import accelerators, epochs
from runner.job import prepare
from runner.job.profile import profile
from runner.judge.calls import Calls
from runner.judge.data.faults import UNENDED, Fault, IncumbentFailed, OracleFailed, TooLarge
from runner.judge.device.telemetry import Blind, Several, Telemetry
from runner.judge.sides.oracle import Oracle
from runner.judge.sides.tenant import Tenant
from runner.judge.trial import Trial
from runner.wire import (
    ADMISSION,
    JUDGE,
    MAX_LOG_CHARS,
    MAX_MESSAGE_CHARS,
    PROFILE,
    STARTER,
    STARTERS_S,
    TIMED_MODES,
    Event,
    Expectation,
    Job,
    Report,
)
from sandbox import protocol
from sandbox.container import SandboxError

log = logging.getLogger("runner.job.execute")

SAID_CHARS: Final = 300
OPERATOR_CHARS: Final = 8_000
PROBLEM_FAILED: Final = "The problem's own code failed; its organiser has been told."
TOO_LARGE: Final = (
    "A case of this problem needs more memory than this hardware has free. Neither your code nor an error in the "
    "problem's code is the cause; its organiser has been told the sizes."
)
SANDBOX_FAILED: Final = "The sandbox failed, not your code. This does not count against you; please submit again."
SHORT_OF_MEMORY: Final = ("judge", "allocation")  # reasons of out_of_memory that may be due to a device's memory

OnEvent = Callable[[Event], None]


def execute(
    job: Job,
    settings: config.JudgeSettings,
    on_event: OnEvent,
    ready: prepare.Prepared | None = None,
    built: bytes = b"",
) -> Report:
    """Return the report of this job; infra_error if the fault is ours or the problem's. Raises only bugs.

    Without a prepared set of containers, it makes a set for this job and removes it before it returns the report.
    `built`: what runner/job/build.py made of the submission before.
    """
    course = _Course(job, on_event, built)
    began = time.monotonic()
    course.emit("building", "", {})
    try:
        problem = Problem.from_bundle(job.problem)
        if problem.digest != job.problem_digest:
            raise ProblemError("problem_digest", f"{job.problem_digest} is not the digest of what came with it")
        if problem.unsupported:
            raise ProblemError("problem", f"cannot be judged here: {problem.unsupported}")
        with ExitStack() as stack:
            with course.phase("start"):
                if ready is None:
                    most = accelerators.most_ranks(settings.runner_hardware, settings.runner_gpus)
                    if problem.ranks > most:
                        fault = f"needs {problem.ranks} GPUs at once, and this runner judges on {most} (RUNNER_GPUS)"
                        raise ProblemError("n_gpus", fault)
                    ready = stack.enter_context(prepare.prepared(settings, sides_of(job), problem.ranks))
                ready.take_problem(problem, may_rank=not job.never_ranks)
                for name in set(sides_of(job)) - set(ready.sides):
                    ready.add_side(name, few=job.never_ranks)
            report = course.admit(problem, ready) if job.task == ADMISSION else course.judge(problem, ready)
    except (ProblemError, OracleFailed) as err:
        log.error("problem failed: %s", err)
        message = TOO_LARGE if isinstance(err, TooLarge) else PROBLEM_FAILED
        report = course.failed("problem", message, str(err))
    except (SandboxError, OSError, TimeoutError) as err:
        log.error("sandbox failed: %s", err)
        report = course.failed("sandbox", SANDBOX_FAILED, str(err))
    report.evidence["phases_s"]["all"] = round(time.monotonic() - began, 3)
    return report


def sides_of(job: Job) -> tuple[str, ...]:
    """Return the containers that a job needs, beside the oracle's."""
    if job.task == ADMISSION:
        return (B, A)
    if job.mode not in TIMED_MODES:
        return (B,)
    return (B, A) if job.incumbent is None else (B, A, I)


class _Course:
    """Course of one job.

    The evidence has the seconds of each phase, also of a failed phase, and parts of them: `steps` (all sides' calls,
    each with all work before and after its clock), of which `calls` (from the call's order until no code runs any
    more); `inputs` (waiting for the oracle, and copying); `problem` (the problem's own code, which may run
    beside the comparing); `comparing`.
    """

    def __init__(self, job: Job, on_event: OnEvent, built: bytes) -> None:
        self.job, self._built = job, built
        self._on_event = on_event
        self._numbers, self._announced = itertools.count(1), ""
        self.recorder = Recorder()
        self._blank = Report(attempt_id=job.attempt_id, token=job.token, outcome="infra_error")

    def emit(self, state: str, message: str, data: dict[str, Any]) -> None:
        """Send progress; a state is announced when it begins."""
        if state != self._announced:
            self._announced = state
            self._on_event(Event(seq=next(self._numbers), kind="state", state=state))
        if data:
            event = Event(seq=next(self._numbers), kind="progress", state=state, message=message, data=data)
            self._on_event(event)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.recorder.phases_s[name] = round(time.monotonic() - began, 4)

    def judge(self, problem: Problem, ready: prepare.Prepared) -> Report:
        job, recorder = self.job, self.recorder
        trial = self._trial(problem, ready, another_oracle=ready.another_oracle)
        if job.mode in TIMED_MODES:
            recorder.add_circumstances(launches=ready.launches, **vars(ready.compared()))
        try:
            self._measure(trial, ready)
        except Fault as fault:
            _not_for_want_of_room(fault.reason, ready)
            recorder.add_fault(fault.outcome, fault.reason, fault.message, fault.share)
        except IncumbentFailed as failed:
            _not_for_want_of_room(failed.reason, ready)
            said = f"The incumbent failed while it was measured beside this submission: {failed}."
            recorder.add_fault("unmeasurable", INCUMBENT_FAILED, said, failed.share)
        except TooLarge:
            _not_for_want_of_room(SHORT_OF_MEMORY[0], ready)
            raise
        except OracleFailed as failed:
            if failed.share is None or not failed.share.is_starved:
                raise
            recorder.add_fault("infra_error", "problem", PROBLEM_FAILED, failed.share)
            recorder.add_circumstances(operator=str(failed)[-OPERATOR_CHARS:])
        if certificate.is_long(recorder.evidence):
            ready.long_problem = job.problem_digest
        end_foreign_code(ready.sides, recorder)
        with self.phase("copies"), ready.spares.frozen():
            trial.time_copies()
        profiled: dict[str, Any] = {}
        if job.mode == PROFILE and trial.counts:
            self.emit("checking", "The profilers are at work", {"profiling": True})
            with self.phase("profiling"):
                profiled = profile(job, trial, ready, self._built).model_dump(mode="json")
        parts = {
            "calls": sum(side.device_s for side in ready.sides.values()),
            "steps": sum(side.steps_s for side in ready.sides.values()),
            "inputs": trial.calls.oracle.asked.seconds,
            "problem": trial.calls.oracle.problem_s,
            "comparing": trial.calls.comparing.seconds,
        }
        recorder.phases_s.update({name: round(seconds, 4) for name, seconds in parts.items()})
        recorder.add_findings(rules.findings(recorder.evidence))  # after the findings of the comparison
        report = report_of(self._blank, recorder.evidence, ready.sides[B].container.logs())
        return replace(report, profile=profiled)

    def _measure(self, trial: Trial, ready: prepare.Prepared) -> None:
        job = self.job
        telemetry: Telemetry = Blind()
        if ready.hardware.steps.telemetry:
            cores = (*ready.cores.judge, *ready.cores.tenant)
            make = ready.hardware.make
            found = [make.telemetry(number, own=ready.pids, cores=cores) for number in ready.devices]
            telemetry = found[0] if len(found) == 1 else Several(found)
        with closing(telemetry):
            with self.phase("building"):
                try:
                    trial.load(job.source, built=self._built)
                except Fault as fault:
                    if fault.reason == "import":  # from the problem, perhaps, which cannot be imported either
                        trial.load_oracle()
                    raise
            with self.phase("oracle"):
                trial.load_oracle()
            with self.phase("checking"):
                trial.check(telemetry)
            if job.mode in TIMED_MODES and trial.counts:
                with self.phase("timing"), ready.spares.frozen():
                    trial.load_baseline()
                    if job.incumbent is not None:
                        trial.load_incumbent(job.incumbent.source)
                    trial.measure(telemetry, bar=job.bar)

    def admit(self, problem: Problem, ready: prepare.Prepared) -> Report:
        """Test the problem itself: no submission, no times."""
        recorder = self.recorder
        trial = self._trial(in_python(problem), ready)  # the problem's own reference answers
        with self.phase("checking"):
            limits = recorder.evidence.limits.cases
            found = examine.examine(trial, {one.case: one.hard.ns for one in limits if one.hard})
        for side in ready.sides.values():
            side.container.kill()
            side.container.wait_dead()
        ready.oracle.close()  # each starter has an oracle of its own
        with self.phase("starters"):
            found = replace(found, lines=(*found.lines, *try_starters(self.job, problem, ready)))
        return replace(
            self._blank,
            outcome="passed" if found.passed else "wrong",
            reason="" if found.passed else ADMISSION,
            message=found.sentence,
            admission=found.to_json(),
            epoch=recorder.evidence.epoch,
            evidence=recorder.to_json(),
        )

    def failed(self, reason: str, message: str, detail: str) -> Report:
        """Return a report of infra_error. `detail` is for operators and organisers: it may hold data of secret cases
        and is shown to no competitor."""
        evidence = {**self.recorder.to_json(), "operator": detail[-OPERATOR_CHARS:]}
        return replace(self._blank, reason=reason, message=message, evidence=evidence)

    def _trial(
        self, problem: Problem, ready: prepare.Prepared, another_oracle: Callable[[], Oracle] | None = None
    ) -> Trial:
        """Return the trial, and record its circumstances and the bounds on its times."""
        job, hardware, recorder = self.job, ready.hardware, self.recorder
        calls = Calls(
            problem, ready.oracle, ready.sides, hardware.memory, recorder=recorder, another_oracle=another_oracle
        )
        trial = Trial(calls, job.mode, profile=hardware.profile, emit=self.emit)
        epoch = accelerators.epoch(ready.fingerprint)
        ceilings = epochs.ceilings_for(ready.settings, job.hardware, epoch, ready.fingerprint)
        recorder.add_circumstances(
            epoch=epoch,
            hardware=job.hardware,
            problem_digest=job.problem_digest,
            image=ready.image,
            cores={"judge": list(ready.cores.judge), "tenant": list(ready.cores.tenant)},
            fingerprint=ready.fingerprint,
            left_out=hardware.steps.left_out,
            certified=all(side.certified for side in ready.sides.values()),
            tuned=problem.is_tuned_on(job.hardware),
            limits=speed_of_light.limits(problem.speed_of_light, problem.benchmarks, ceilings, problem.precision),
        )
        return trial


def _not_for_want_of_room(reason: str, ready: prepare.Prepared) -> None:
    """Blame the host if foreign processes occupy the device's memory: no submission pays for that. Raises
    SandboxError."""
    if reason not in SHORT_OF_MEMORY:
        return
    make = ready.hardware.make
    if pids := frozenset().union(*(make.strangers(number, own=ready.pids) for number in ready.devices)):
        raise SandboxError(
            f"memory ran out, and others are on the device, too: end pid {', '.join(map(str, sorted(pids)))}"
        )


def end_foreign_code(sides: dict[str, Tenant], recorder: Recorder) -> None:
    """End all foreign code. A side that cannot be ended decides the verdict."""
    for name in sorted(set(sides) - {A}):
        sides[name].container.kill()
        if sides[name].container.wait_dead() or recorder.evidence.fault is not None:
            continue
        if name == B:
            recorder.add_fault("policy", "unfreezable", UNENDED)
        else:
            message = "The incumbent could not be ended after it was measured beside this submission."
            recorder.add_fault("unmeasurable", INCUMBENT_FAILED, message)


def try_starters(job: Job, problem: Problem, ready: prepare.Prepared) -> Iterator[Expectation]:
    """Send each starter of the problem in test mode. A starter that fails is no fault: it may only show the form."""
    os.sched_setaffinity(0, ready.cores.oracle)  # all that this judge has: each starter's judge shares them out again
    until = time.monotonic() + STARTERS_S
    for language, source in sorted(problem.templates.items()):
        if time.monotonic() > until:
            return
        if accelerators.make_of(job.hardware).on_host and needs_gpu(language):
            continue
        sent = replace(job, task=JUDGE, mode="test", filename=problem.submission_name, source=source)
        report = execute(sent, ready.settings, lambda event: None)
        passed = report.outcome == "passed"
        got = report.outcome + (f" ({report.reason})" if report.reason else "")
        explained = "" if passed else report.message[:SAID_CHARS]
        yield Expectation(f"{STARTER}{language}", "passed", got, True if passed else None, explained)


def report_of(blank: Report, evidence: Evidence, logs: dict[str, str]) -> Report:
    """Return the report of this evidence; verdict.py decides."""
    decided = verdict.decide(evidence)
    return replace(
        blank,
        outcome=decided.outcome,
        reason=decided.reason,
        message=protocol.cut(decided.message, MAX_MESSAGE_CHARS),
        flags=decided.flags + (() if evidence.certified else ("not_certified",)),
        score_us=decided.score_us,
        ratio=decided.ratio,
        half_width=decided.half_width,
        forgeable=decided.forgeable,
        telemetry=evidence.telemetry,
        epoch=evidence.epoch,
        set_aside=evidence.set_aside,
        cases=tuple(verdict.shown_cases(evidence, decided)),
        logs={name: protocol.cut(text, MAX_LOG_CHARS) for name, text in logs.items()},
        evidence=evidence.model_dump(mode="json"),
    )
