"""Real judging for attack tests: real containers, the library's problems, no site."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

import pytest

from problems.spec import Problem
from runner import config
from runner.commands.local import find_problem
from runner.job.execute import execute
from runner.wire import Job, Report
from sandbox import container

Judge = Callable[..., Report]
TRIES = 5  # a disturbed machine may be quiet next time
# Limits relative to the timed case. Samples that treat timed shapes differently know them; one sample does so with
# powers of two.
SMALLER = {"softmax": {"rows": 512, "cols": 2048}, "vectoradd": {"size": 1_000_003}}

os.environ.setdefault("ATTACK_CORPUS_DISARM", "0")  # armed: containers are the right place for attacks


@cache
def problem_named(name: str) -> Problem:
    """A problem of the library with one timed case: enough for a verdict, in half the time."""
    found = find_problem(name).on("cpu")
    return replace(found, benchmarks=({**found.benchmarks[-1], **SMALLER.get(name, {})},))


@pytest.fixture(scope="session")
def owner() -> Iterator[str]:
    """The label of this run's containers, so that no other run's containers are counted or removed."""
    label = f"attacks{secrets.token_hex(6)}"
    yield label
    client = container.connect()
    left = container.reap(client, label)
    client.close()
    assert left == 0, "a judge left containers behind"


@pytest.fixture
def judge(owner: str) -> Judge:
    """Judge `source` against a problem (of the library, or given); the report."""

    def judge(source: str, problem: str | Problem = "softmax", mode: str = "test") -> Report:
        found = problem_named(problem) if isinstance(problem, str) else problem
        job = Job(
            attempt_id="test",
            token=0,
            lease_s=600,
            hardware="cpu",
            mode=mode,
            submission_id="test",
            filename="submission.py",
            source=source,
            problem=found.to_bundle(),
            problem_digest=found.digest,
        )
        settings = config.load_judge().model_copy(update={"runner_id": owner})
        for _ in range(TRIES):
            report = execute(job, settings, lambda event: None)
            if report.reason not in ("unsteady", "voids", "starved"):  # a busy machine may cause these, once
                break
        return Report.from_json(report.to_json())  # as the site would read it

    return judge
