"""A benchmark with a bar, judged in real containers: a slow kernel gets a first look, a fast one the whole timing."""

from dataclasses import replace
from pathlib import Path

import pytest

from runner.commands import local
from runner.commands.replay import replay
from runner.config import JudgeSettings
from runner.evidence import schema
from runner.evidence.schedule import FIRST_LOOK
from runner.wire import Report
from tests.conftest import SANDBOX_IMAGE

pytestmark = [pytest.mark.docker, pytest.mark.timed]

KERNEL = "import torch\n\ndef custom_kernel(data):\n    x, y, out = data\n    return torch.add(x, y, out=out)\n"


TRIES = 3  # a disturbed machine: it may be quiet next time


def judged(bar: float, locks: Path) -> Report:
    settings = JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=locks)
    whole = local.find_problem("vectoradd").on("cpu")
    problem = replace(whole, benchmarks=({**whole.benchmarks[0], "size": 1_000_003},))
    job = local.job_from(problem, KERNEL, "mine.py", "benchmark", "cpu")
    for _ in range(TRIES):
        report = local.judge_here(replace(job, bar=bar), settings, lambda event: None)
        if report.outcome != "unmeasurable":
            break
    return report


def test_a_kernel_that_cannot_beat_the_bar_gets_a_first_look(tmp_path: Path) -> None:
    report = judged(0.01, tmp_path)
    evidence = schema.parse_run(report.evidence)
    assert report.outcome == "passed"
    assert "stopped_early" in report.flags
    assert evidence.stopped_at == 0.01
    assert replay(report.to_json()).differences == ()
    assert {sum(not quad.void for quad in timing.quads) for timing in evidence.timing} == {FIRST_LOOK}


def test_a_kernel_that_may_beat_the_bar_is_timed_as_without(tmp_path: Path) -> None:
    report = judged(100.0, tmp_path)
    evidence = schema.parse_run(report.evidence)
    assert (report.outcome, evidence.stopped_at) == ("passed", None)
    assert "stopped_early" not in report.flags
    assert evidence.profile.most_quads > FIRST_LOOK
