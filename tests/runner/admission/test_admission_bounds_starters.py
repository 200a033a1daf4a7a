"""Starters of an admission test share STARTERS_S and have all cores of the runner; without containers."""

import os
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from problems.spec import Problem
from runner.commands import local
from runner.config import JudgeSettings
from runner.host.accelerators import share_out
from runner.job import execute
from runner.wire import STARTERS_S, Job, Report

LANGUAGES = ("C", "C++", "Python")


@pytest.fixture
def ready() -> Iterator[SimpleNamespace]:
    """Prepared state of an admission test, with this process on the judge's core."""
    before = os.sched_getaffinity(0)
    cores = share_out(sorted(before))
    os.sched_setaffinity(0, cores.judge)
    yield SimpleNamespace(cores=cores, settings=JudgeSettings(sandbox_image="none", runner_hardware="cpu"))
    os.sched_setaffinity(0, before)


@pytest.mark.parametrize(("each_s", "tried"), [(1.0, 3), (STARTERS_S / 2 + 1, 2), (STARTERS_S + 1, 1)])
def test_admission_tries_no_starter_after_starters_s(
    monkeypatch: pytest.MonkeyPatch, ready: SimpleNamespace, each_s: float, tried: int
) -> None:
    clock = [1000.0]

    def judge(job: Job, *_: object) -> Report:
        assert os.sched_getaffinity(0) == set(ready.cores.oracle)
        clock[0] += each_s
        return Report(attempt_id=job.attempt_id, token=job.token, outcome="passed")

    monkeypatch.setattr(execute, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    monkeypatch.setattr(execute, "execute", judge)
    problem = Problem(
        slug="sum",
        title="Sum",
        description="Sums.",
        files={"reference.py": "def ref_kernel(data): return data\n"},
        templates=dict.fromkeys(LANGUAGES, "def custom_kernel(data):\n    pass\n"),
        tests=({"size": 1},),
        benchmarks=({"size": 1},),
        ranking_by="geom",
        gpus=("cpu",),
    )
    lines = list(execute.try_starters(local.admission_job(problem, "cpu"), problem, ready))
    assert [line.name for line in lines] == [f"starter/{language}" for language in LANGUAGES[:tried]]
