"""Fitness of this runner's device. After a run set it aside, it judges again when a canary has passed twice in a row.

A canary is an honest kernel on the library's calibration problem, in the same judge as every submission. It passes if
it is judged `passed`, does not set the device aside, and takes no longer than before on this device in the same epoch.

    pending(state) -> str                      why the device is set aside; "" when it may judge
    set_aside(state, reason)                   after a report whose `set_aside` is not empty; survives a restart
    run_once(settings, judge) -> Fitness       one canary; the second pass in a row frees the device
    fit(settings, judge) -> Fitness            canaries as far as needed: none where nothing is pending, at most two
    health_of(settings) -> Health              free disk, temperature and the last canaries, for the host's page

`judge` takes a Job and returns its Report, or None if it was stopped; it may raise JudgeFault. Owns
RUNNER_STATE/canary.json; one process at a time does (the process that holds the device).
"""

import json
import math
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final

import problems
from problems.formats.gpumode import load_problem
from problems.spec import Problem
from runner.config import JudgeSettings
from runner.daemon.spool import write_durably
from runner.errors import JudgeFault
from runner.host.accelerators import make_of
from runner.wire import MOST_CANARIES, Canary, Health, Job, Report

PASSES: Final = 2  # in a row
FILE: Final = "canary.json"
PROBLEM: Final = Path(problems.__file__).parent / "library" / "calibration" / "add"
KERNEL: Final = """import torch


def custom_kernel(data):
    x, out = data
    return torch.add(x, 1.0, out=out)
"""
SIZES: Final = {"cpu": 1 << 22}  # elements: some ms on a CPU; elsewhere 64 MB, read and written
SIZE: Final = 1 << 24
SLOWER: Final = {"cpu": 1.5}  # times the healthy time: how much two honest jobs differ if memory is shared
SLOWER_GPU: Final = 1.05  # six jobs of this size on an H200 lay within 0.4 %
UNREADABLE: Final = f"{FILE} in RUNNER_STATE could not be read, so nobody knows whether the device is fit"

Judge = Callable[[Job], Report | None]


@dataclass(frozen=True)
class Fitness:
    """Result of a canary. `reason` for the operator, if not ok."""

    ok: bool
    reason: str = ""


@dataclass(frozen=True)
class _State:
    """State on disk. `healthy_us` by epoch: the canary's time when it first freed the device, or was fit."""

    set_aside: str = ""
    passes: int = 0
    healthy_us: dict[str, float] = field(default_factory=dict)
    history: tuple[Canary, ...] = ()


def health_of(settings: JudgeSettings) -> Health:
    """Return the state of this host; an unreadable temperature is None. Call it between two jobs only: a query of the
    device beside a job could disturb its times. Raises OSError if the disk is unreadable."""
    settings.runner_state.mkdir(parents=True, exist_ok=True)
    disk = shutil.disk_usage(settings.runner_state)
    temperature_c = None
    with suppress(Exception):  # a vendor's library raises its own tree; a missing figure must not stop the daemon
        temperature_c = make_of(settings.runner_hardware).temperature_c(settings.runner_gpu)
    return Health(disk.free, disk.total, temperature_c, _read(settings.runner_state).history)


def pending(state: Path) -> str:
    return _read(state).set_aside


def set_aside(state: Path, reason: str) -> None:
    """Set the device aside. Passes counted so far are void."""
    _write(state, replace(_read(state), set_aside=reason or "no reason given", passes=0))


def fit(settings: JudgeSettings, judge: Judge) -> Fitness:
    """Run canaries until the device is fit, or until the first canary fails."""
    while why := pending(settings.runner_state):
        found = run_once(settings, judge)
        if not found.ok:
            return Fitness(False, f"{why}; {found.reason}")
    return Fitness(True)


def run_once(settings: JudgeSettings, judge: Judge) -> Fitness:
    """Run a canary. If the device is not set aside, a pass is stored as this epoch's healthy time, unless there is
    one."""
    hardware, state = settings.runner_hardware, settings.runner_state
    known = _read(state)
    problem = replace(load_problem(PROBLEM), benchmarks=({"size": SIZES.get(hardware, SIZE), "seed": 1},))
    try:
        report = judge(own_job("canary", problem, KERNEL, problem.submission_name, "benchmark", hardware))
    except JudgeFault as fault:
        reason = f"the judge failed on the canary: {fault}"
        _write(state, replace(known, passes=0, history=_with(known, False, 0.0, reason)))
        return Fitness(False, reason)
    if report is None:
        return Fitness(False, "the canary was stopped before it ended")
    # Not scaled by a reference: the device's own speed is in question. 0 without a time.
    took_us = sum(float(case.get("measured_us", 0.0)) for case in report.cases if case.get("stage") == "time")
    healthy_us, reason = known.healthy_us.get(report.epoch), ""
    most_us = math.inf if healthy_us is None else healthy_us * SLOWER.get(hardware, SLOWER_GPU)
    if report.set_aside:
        reason = f"the canary set the device aside again: {report.set_aside}"
    elif report.outcome != "passed":
        reason = f"the canary was judged {report.outcome} ({report.reason or 'no reason'})"
    elif not 0 < took_us <= most_us:
        reason = f"the canary took {took_us:.4g} µs; healthy is at most {most_us:.4g} µs"
    known = replace(known, history=_with(known, not reason, took_us, reason))
    if reason:
        after = replace(known, set_aside=known.set_aside or report.set_aside, passes=0)
    elif known.set_aside and known.passes + 1 < PASSES:
        after = replace(known, passes=known.passes + 1)
    else:
        after = _State(healthy_us={report.epoch: took_us, **known.healthy_us}, history=known.history)
    _write(state, after)
    return Fitness(not reason, reason)


def own_job(name: str, problem: Problem, source: str, filename: str, mode: str, hardware: str) -> Job:
    """Return a job that no site has handed out."""
    return Job(
        attempt_id=f"{name}-{secrets.token_hex(8)}",
        token=0,
        lease_s=86_400,
        hardware=hardware,
        mode=mode,
        submission_id=name,
        filename=filename,
        source=source,
        problem=problem.to_bundle(),
        problem_digest=problem.digest,
    )


def _with(known: _State, ok: bool, took_us: float, reason: str) -> tuple[Canary, ...]:
    return (*known.history, Canary(round(time.time(), 3), ok, max(took_us, 0.0), reason[:500]))[-MOST_CANARIES:]


def _read(state: Path) -> _State:
    """Read the state. An unreadable file sets the device aside: a canary costs seconds, a false record more."""
    try:
        data = json.loads((state / FILE).read_text(encoding="utf-8"))
        healthy = {str(epoch): float(us) for epoch, us in data["healthy_us"].items()}
        if not all(us > 0 and math.isfinite(us) for us in healthy.values()):
            raise ValueError("healthy_us: a time is not positive")
        ran = tuple(Canary(**one) for one in data.get("history", ()))
        return _State(str(data["set_aside"]), int(data["passes"]), healthy, ran)
    except FileNotFoundError:
        return _State()
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return _State(set_aside=UNREADABLE)


def _write(state: Path, value: _State) -> None:
    write_durably(state / FILE, json.dumps(asdict(value), indent=1).encode())
