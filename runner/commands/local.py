"""Judging of a file against a problem folder without a site: the same judge, the same containers, the same report.

Competitors run it at home, and organisers while they write a problem.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Final

import problems
from leaderboard.source import SourceError, read_file
from problems.directives import DirectiveError, other_hardware, read_directives
from problems.fields import ProblemError
from problems.formats import kernelbench
from problems.formats.gpumode import TASK_FILE, load_problem
from problems.spec import MAX_BUNDLE_BYTES, Problem
from runner import config
from runner.daemon.canary import own_job
from runner.daemon.loan import Patience, borrowed
from runner.errors import RunnerError
from runner.host import accelerators
from runner.job import cleanup
from runner.job.confirm import confirm
from runner.job.execute import OnEvent, execute
from runner.wire import ADMISSION, Incumbent, Job, Report

PULLED_FILE: Final = "problem.json"  # leaderboard/cli/problem.py writes it
MAX_PULLED_BYTES: Final = 2 * MAX_BUNDLE_BYTES  # it is indented
SAID_CHARS: Final = 200
FOR_EVER: Final = Patience()
LIBRARY: Final = Path(problems.__file__).parent / "library"


class UsageError(RunnerError):
    """The request cannot be judged; the text names the remedy."""


def find_folder(name: str) -> Path:
    """Return a folder with a task.yml or a problem.json, or that of a problem of the library. Raises UsageError."""
    try:
        if any((Path(name) / file).is_file() for file in (TASK_FILE, PULLED_FILE)):
            return Path(name)
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from None
    known = {path.parent.name: path.parent for path in sorted(LIBRARY.glob("*/*/task.yml"))}
    if name not in known:
        raise UsageError(
            f"{name!r} is neither a folder with a task.yml or a problem.json nor in the library: {', '.join(known)}"
        )
    return known[name]


def is_model_file(name: str) -> bool:
    """Return whether the name is that of a KernelBench file."""
    return name.endswith(".py")


def find_problem(name: str) -> Problem:
    """Return the problem of a folder, a library name or a KernelBench file. Raises UsageError."""
    is_file = is_model_file(name)
    folder = Path(name) if is_file else find_folder(name)
    try:
        if is_file:
            problem = kernelbench.load_file(folder, kernelbench.level_of(folder))
        elif (folder / TASK_FILE).is_file():
            problem = load_problem(folder)
        else:
            problem = pulled_problem(folder / PULLED_FILE)
    except ProblemError as err:
        raise UsageError(f"{folder}: {err}") from None
    if problem.unsupported:
        raise UsageError(f"{folder} cannot be judged here: {problem.unsupported}")
    return problem


def pulled_problem(path: Path) -> Problem:
    """Return the problem in a file of `photofinish problem pull`. Raises ProblemError, UsageError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_PULLED_BYTES + 1)
        found = json.loads(data) if len(data) <= MAX_PULLED_BYTES else None
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    if found is None:
        raise UsageError(f"{path} has more than {MAX_PULLED_BYTES} bytes; pull the problem again")
    return Problem.from_bundle(found)


def read_source(path: Path) -> str:
    """Return the submission's text. Raises UsageError if the site would refuse it too."""
    try:
        source = read_file(path)
        read_directives(source)
    except (SourceError, DirectiveError) as error:
        raise UsageError(f"{path}: {error.message}") from None
    return source


def not_meant_for(hardware: str, path: Path, source: str) -> str:
    """Return the warning for a file that names different hardware; "" if it needs none."""
    named = ", ".join(other_hardware(source, hardware))[:SAID_CHARS]
    return f"{path} says that it is for {named}; here it is judged as {hardware} (RUNNER_HARDWARE)" if named else ""


def judge_here(job: Job, settings: config.JudgeSettings, on_event: OnEvent, patience: Patience = FOR_EVER) -> Report:
    """Judge any job while this process holds the device. Raises DeviceBusy if the device is not free in time."""
    device = accelerators.device_of(settings)
    judge = execute if job.incumbent is None else confirm
    own = replace_id(settings)
    purpose = f"`runner` on {job.filename or 'an admission test'} (pid {os.getpid()})"
    with borrowed(device, settings.runner_locks, patience, purpose), cleanup.cleared(own.runner_id):
        return judge(job, own, on_event)


def job_of(problem: Problem, path: Path, mode: str, hardware: str) -> Job:
    """Return a job without a site. Raises UsageError."""
    return job_from(problem, read_source(path), path.name, mode, hardware)


def job_from(problem: Problem, source: str, filename: str, mode: str, hardware: str) -> Job:
    return own_job("once", problem.on(hardware), source, filename, mode, hardware)


def confirmation_job(problem: Problem, candidate: Path, incumbent: Path, runs: int, hardware: str) -> Job:
    """Return a job that confirms a record: one report over all runs. Raises UsageError."""
    held = Incumbent(read_source(incumbent), incumbent.name, "incumbent")
    return replace(job_of(problem, candidate, "ranked", hardware), incumbent=held, runs=runs)


def admission_job(problem: Problem, hardware: str) -> Job:
    """Return a job that tests the problem itself."""
    return replace(job_from(problem, "", "", "test", hardware), task=ADMISSION)


def replace_id(settings: config.JudgeSettings) -> config.JudgeSettings:
    """Label the containers of a single run as its own: no daemon's reaping touches them."""
    return settings.model_copy(update={"runner_id": cleanup.new_owner()})
