"""Real judging for attack tests: real containers, the library's problems, no site."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import cache

import pytest

from problems.spec import Problem
from runner import config
from runner.commands.local import find_problem
from runner.job import prepare
from runner.job.execute import execute
from runner.judge.device.processor import Meter
from runner.judge.sides.oracle import Oracle
from runner.wire import Job, Report
from sandbox import container

Judge = Callable[..., Report]
Prepared = prepare.Prepared  # as it is before any test replaces it
TRIES = 5  # a disturbed machine may be quiet next time
# Limits relative to the timed case. Samples that treat timed shapes differently know them; one sample does so with
# powers of two.
SMALLER = {"softmax": {"rows": 512, "cols": 2048}, "vectoradd": {"size": 1_000_003}}

os.environ.setdefault("ATTACK_CORPUS_DISARM", "0")  # armed: containers are the right place for attacks


@cache
def problem_named(name: str) -> Problem:
    """A problem of the library with one timed case: enough for a verdict, in half the time."""
    found = find_problem(name).on("cpu")
    benchmark = {**found.benchmarks[-1], **SMALLER.get(name, {})}
    return replace(found, benchmarks=(benchmark,), ranked_timeout_s=40.0)  # a busy machine lengthens no case for long


@pytest.fixture(scope="session")
def owner() -> Iterator[str]:
    """The label of this run's containers, so that no other run's containers are counted or removed."""
    label = f"attacks{secrets.token_hex(6)}"
    yield label
    client = container.connect()
    left = container.reap(client, label)
    client.close()
    assert left == 0, "a judge left containers behind"


class Oracles:
    """The oracle of a problem, kept for the next submissions: it never meets their code, and importing torch takes
    most of a short job. Tenants are fresh for each job."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._kept: dict[str, tuple[Oracle, ExitStack]] = {}

    def sets(self, problem: Problem) -> Callable[..., prepare.Prepared]:
        """Return a maker of prepared sets that have the kept oracle of this problem."""
        oracles, name = self, problem.digest

        class WithKeptOracle(Prepared):
            def _start_oracle(self) -> Oracle:
                if name not in oracles._kept:
                    own, settings = self._stack, self.settings
                    self.settings = settings.model_copy(update={"runner_id": oracles._owner})
                    with ExitStack() as self._stack:
                        oracle = super()._start_oracle()
                        oracle.connect()
                        oracles._kept[name] = oracle, self._stack.pop_all()
                    self._stack, self.settings = own, settings
                oracle = oracles._kept[name][0]
                oracle.meter = Meter(oracle.container.pid, self._others.ns)
                return oracle

            def connect(self) -> None:
                for side in self.sides.values():
                    side.connect()
                self._compare()

            def another_oracle(self) -> Oracle:
                oracles.forget(name)
                self.oracle = self._start_oracle()
                return self.oracle

        return WithKeptOracle

    def forget(self, name: str) -> None:
        if name in self._kept:
            self._kept.pop(name)[1].close()

    def close(self) -> None:
        for name in list(self._kept):
            self.forget(name)


@pytest.fixture(scope="session")
def oracles(owner: str) -> Iterator[Oracles]:
    kept = Oracles(f"{owner}o")
    yield kept
    kept.close()


@pytest.fixture
def judge(owner: str, oracles: Oracles, monkeypatch: pytest.MonkeyPatch) -> Judge:
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
        monkeypatch.setattr(prepare, "Prepared", oracles.sets(found))
        for _ in range(TRIES):
            report = execute(job, settings, lambda event: None)
            if report.outcome == "infra_error":
                oracles.forget(found.digest)
            if report.reason not in ("unsteady", "voids", "starved"):  # a busy machine may cause these, once
                break
        return Report.from_json(report.to_json())  # as the site would read it

    return judge
