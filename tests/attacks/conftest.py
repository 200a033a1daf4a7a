"""Real judging for attack tests: real containers, the library's problems, no site."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import pytest

from problems.spec import Problem
from runner import config
from runner.execute import execute
from runner.once import find_problem
from runner.wire import Job, Report

Judge = Callable[..., Report]

os.environ.setdefault("ATTACK_CORPUS_DISARM", "0")  # armed: containers are where these belong

problem_named = cache(find_problem)


@pytest.fixture
def judge() -> Judge:
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
        settings = config.load_judge().model_copy(update={"runner_id": "attacktests"})
        report = execute(job, settings, lambda event: None)
        return Report.from_json(report.to_json())  # as the site would read it

    return judge
