"""One job in order: containers, building, checking, timing, verdict, report. A process of its own, without the site.

    python -m runner.execute        a Job as JSON on stdin → JSON lines {"event": …}, at last {"report": …}, on stdout
    python -m runner.execute --reap  removes the containers that an earlier judge of this runner left behind

Holds no token and no secret but the seeds of the cases. On SIGTERM the containers are killed and it exits with 143.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Final

from problems.errors import ProblemError
from problems.spec import Problem
from runner import accelerators, config, hosts
from runner.judge import schedule, verdict
from runner.judge.clock import WallClock
from runner.judge.faults import Fault, OracleFailed
from runner.judge.memory import HostMemory, Memory
from runner.judge.oracle import Oracle
from runner.judge.schedule import A, B
from runner.judge.tenant import Tenant
from runner.judge.trial import Trial
from runner.wire import MAX_LOG_CHARS, MAX_MESSAGE_CHARS, Event, Job, Report, WireError
from sandbox import container, policy
from sandbox.errors import SandboxError

log = logging.getLogger("runner.execute")

ARENA_BYTES: Final = 256 << 20  # inputs and outputs each; only what is used is ever touched
GPU_INPUT_BYTES: Final = 4 << 30
GPU_OUTPUT_BYTES: Final = 2 << 30
PR_SET_DUMPABLE: Final = 4
TIMED_MODES: Final = ("benchmark", "ranked")

OnEvent = Callable[[Event], None]


class Terminated(SystemExit):
    """SIGTERM: everything is cleaned up on the way out."""


def execute(job: Job, settings: config.JudgeSettings, on_event: OnEvent) -> Report:
    """The report of this job; infra_error where the fault is ours or the problem's. Raises only Terminated and bugs."""
    emit = _Emitter(on_event)
    began = time.monotonic()
    blank = Report(attempt_id=job.attempt_id, token=job.token, outcome="infra_error")
    evidence: dict[str, Any] = {"phases_s": {}}
    try:
        problem = _problem(job)
        with _judging_core() as cores:
            return _judge(job, problem, settings, cores, emit, evidence, blank)
    except (ProblemError, OracleFailed) as err:
        log.error("problem failed: %s", err)
        return _infra(
            blank, "problem", "The problem's own code failed; its organiser has been told.", str(err), evidence
        )
    except (SandboxError, OSError, TimeoutError) as err:
        log.error("sandbox failed: %s", err)
        return _infra(
            blank,
            "sandbox",
            "The sandbox failed, not your code. This does not count against you; please submit again.",
            str(err),
            evidence,
        )
    finally:
        evidence["phases_s"]["all"] = round(time.monotonic() - began, 3)


def _problem(job: Job) -> Problem:
    problem = Problem.from_bundle(job.problem)
    if problem.digest != job.problem_digest:
        raise ProblemError("problem_digest", f"{job.problem_digest} is not the digest of what came with it")
    if problem.unsupported:
        raise ProblemError("problem", f"cannot be judged here: {problem.unsupported}")
    return problem


def _judge(
    job: Job,
    problem: Problem,
    settings: config.JudgeSettings,
    cores: hosts.Cores,
    emit: _Emitter,
    evidence: dict[str, Any],
    blank: Report,
) -> Report:
    phases = _Phases(evidence["phases_s"])
    timed = job.mode in TIMED_MODES
    with ExitStack() as stack:
        emit("building", "", {})
        hardware = Hardware.of(settings)
        sides, oracle, image = _start_all(stack, settings, cores, hardware, timed=timed)
        trial = Trial(problem, job.mode, oracle, sides, hardware.memory, profile=hardware.profile, emit=emit)
        evidence.update(trial.evidence)
        trial.evidence = evidence
        evidence.update(_circumstances(job, settings, image, cores))
        try:
            with phases("start"):
                sides[B].connect()
            evidence["certified"] = sides[B].certified
            with phases("building"):
                trial.load(job.source)
            with phases("oracle"):
                oracle.connect()
                oracle.load(dict(problem.files))
            with phases("checking"):
                trial.check()
            if timed and all(check["good"] for check in evidence["checks"]):
                with phases("timing"):
                    sides[A].connect()
                    evidence["certified"] = all(side.certified for side in sides.values())
                    trial.load_baseline()
                    trial.measure(job.reference_ns)
        except Fault as fault:
            evidence["fault"] = {"outcome": fault.outcome, "reason": fault.reason, "message": fault.message}
        sides[B].container.kill()
        sides[B].container.wait_exit()
        logs = sides[B].logs()
    return _report(blank, evidence, logs)


@dataclass(frozen=True)
class Hardware:
    """What differs between one kind of hardware and another: where tensors lie, how to time, what containers get."""

    memory: Memory
    profile: schedule.Profile
    gpu: policy.Gpu | None
    input_bytes: int
    output_bytes: int

    @classmethod
    def of(cls, settings: config.JudgeSettings) -> Hardware:
        if settings.runner_hardware == "cpu":
            return cls(HostMemory(), schedule.CPU, None, ARENA_BYTES, ARENA_BYTES)
        from runner.judge.cuda import CudaMemory  # needs a GPU's stack, which a cpu host has not

        gpu = policy.Gpu(
            toolkit=settings.runner_gpu_stack == "toolkit",
            interpreter=settings.runner_gpu_interpreter,
            library_path=settings.runner_gpu_library_path,
        )
        return cls(CudaMemory(), schedule.GPU, gpu, GPU_INPUT_BYTES, GPU_OUTPUT_BYTES)


def _start_all(
    stack: ExitStack, settings: config.JudgeSettings, cores: hosts.Cores, hardware: Hardware, *, timed: bool
) -> tuple[dict[str, Tenant], Oracle, str]:
    """All containers of a job are started before anything is waited for: they import torch side by side."""
    client = container.connect()
    stack.callback(client.close)
    image = settings.sandbox_image
    sizes = hardware.input_bytes, hardware.output_bytes

    def started(made: policy.Policy) -> container.Container:
        if hardware.gpu is not None:
            made = policy.with_gpu(made, hardware.gpu)
        new = stack.enter_context(container.Container(client, made, settings.runner_id))
        new.start()
        return new

    tenants = hosts.cpuset(cores.tenant)
    sides = {}
    for side in (B, A) if timed else (B,):
        made = started(policy.tenant(image, hosts.draw_uid(), tenants))
        sides[side] = Tenant(side, made, WallClock(), hardware.memory, *sizes)
        stack.callback(sides[side].close)
    made = started(policy.oracle(image, hosts.draw_uid(), hosts.cpuset(cores.oracle)))
    oracle = Oracle(made, hardware.memory, *sizes)
    stack.callback(oracle.close)
    return sides, oracle, str(client.images.get(image).id)


def _circumstances(job: Job, settings: config.JudgeSettings, image: str, cores: hosts.Cores) -> dict[str, Any]:
    """What a later reader must know to compare this run with another."""
    return {
        "hardware": job.hardware,
        "problem_digest": job.problem_digest,
        "image": image,
        "cores": {"judge": list(cores.judge), "tenant": list(cores.tenant)},
        "fingerprint": accelerators.fingerprint(job.hardware),
        "certified": False,
    }


def _report(blank: Report, evidence: dict[str, Any], logs: dict[str, str]) -> Report:
    decided = verdict.decide(evidence)
    return replace(
        blank,
        outcome=decided.outcome,
        reason=decided.reason,
        message=decided.message[:MAX_MESSAGE_CHARS],
        flags=decided.flags + (() if evidence["certified"] else ("not_certified",)),
        score_us=decided.score_us,
        ratio=decided.ratio,
        half_width=decided.half_width,
        cases=tuple(_shown_cases(evidence, decided)),
        logs={name: text[:MAX_LOG_CHARS] for name, text in logs.items()},
        evidence=evidence,
    )


def _shown_cases(evidence: dict[str, Any], decided: verdict.Verdict) -> Iterator[dict[str, Any]]:
    """For the competitor: public cases by name, secret ones by number, then the timed ones."""
    secret = 0
    for check in evidence["checks"]:
        secret += not check["public"]
        yield {
            "stage": "check",
            "name": check["case"] if check["public"] else f"secret {secret}",
            "public": check["public"],
            "good": check["good"],
            "reason": check["reason"],
            "message": check["message"],
        }
    for timed in decided.times:
        yield {
            "stage": "time",
            "name": timed.case,
            "public": True,
            "good": True,
            "time_us": timed.score_ns / 1e3,
            "measured_us": timed.candidate_ns / 1e3,
            "baseline_us": timed.baseline_ns / 1e3,
            "ratio": timed.ratio,
            "half_width": timed.estimate.half_width,
        }


def _infra(blank: Report, reason: str, message: str, detail: str, evidence: dict[str, Any]) -> Report:
    """`detail` is for operators and organisers: it may hold data of secret cases and is shown to no competitor."""
    return replace(blank, reason=reason, message=message, evidence={**evidence, "operator": detail[-8000:]})


class _Emitter:
    """Numbers the events; a state is announced when it begins."""

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self._seq = 0
        self._state = ""

    def __call__(self, state: str, message: str, data: dict[str, Any]) -> None:
        if state != self._state:
            self._state = state
            self._send(Event(seq=self._seq + 1, kind="state", state=state))
        if data:
            self._send(Event(seq=self._seq + 1, kind="progress", state=state, message=message, data=data))

    def _send(self, event: Event) -> None:
        self._seq = event.seq
        self._on_event(event)


class _Phases:
    """Seconds by phase, also of one that failed."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self._seconds = seconds

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] = round(time.monotonic() - began, 3)


@contextmanager
def _judging_core() -> Iterator[hosts.Cores]:
    """Pin this process to the judge's core while it judges."""
    before = os.sched_getaffinity(0)
    cores = hosts.share_out(sorted(before))
    os.sched_setaffinity(0, cores.judge)
    try:
        yield cores
    finally:
        os.sched_setaffinity(0, before)


def _on_term(number: int, frame: FrameType | None) -> None:
    raise Terminated(128 + signal.SIGTERM)


def _say(kind: str, value: Event | Report) -> None:
    sys.stdout.write(json.dumps({kind: value.to_json()}, allow_nan=False, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def _hide() -> None:
    """Not dumpable: no process of another user may trace this one or read its memory, which holds the seeds."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)


def main() -> None:
    """See the module's text."""
    _hide()
    signal.signal(signal.SIGTERM, _on_term)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s %(message)s")
    settings = config.load_judge()
    if sys.argv[1:] == ["--reap"]:
        client = container.connect()
        log.info("removed %d containers", container.reap(client, settings.runner_id))
        return
    try:
        job = Job.from_json(json.loads(sys.stdin.buffer.read()))
    except (ValueError, WireError) as err:
        log.error("not a job: %s", err)
        raise SystemExit(2) from None
    _say("report", execute(job, settings, lambda event: _say("event", event)))


if __name__ == "__main__":
    main()
