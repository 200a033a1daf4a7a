"""Problems near the limits of memory and time, in real containers: they are judged, or refused with the reason."""

from pathlib import Path
from typing import Any

import pytest

from runner.commands import local
from runner.config import JudgeSettings
from runner.job import execute
from runner.judge.data.memory import Memory
from runner.wire import Report
from tests.conftest import SANDBOX_IMAGE
from tests.runner.judge.oracle_here import problem_of

pytestmark = pytest.mark.docker

HALVES = """
import torch

def generate_input(*, rows, seed):
    return torch.rand(rows, 1 << 20, generator=torch.Generator().manual_seed(seed)).half()

def ref_kernel(x):
    return x.float().sum(dim=1)
"""
SUMS = "def custom_kernel(x):\n    return x.float().sum(dim=1)\n"
MODEL = """
import time
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        time.sleep(SECONDS)

    def forward(self, x):
        return x + 1

def get_inputs():
    return [torch.rand(64)]

def get_init_inputs():
    return []
"""


@pytest.fixture
def settings(tmp_path: Path) -> JudgeSettings:
    return JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=tmp_path)


def judged(
    settings: JudgeSettings, source: str, reference: str, case: dict[str, Any], mode: str = "test", **more: Any
) -> Report:
    problem = problem_of(reference, case, **({"test_timeout_s": 240.0} | more))  # on a busy machine
    job = local.job_from(problem, source, problem.submission_name, mode, "cpu")
    return local.judge_here(job, settings, lambda event: None)


@pytest.mark.parametrize(("rows", "basis"), [(4, "fp64"), (120, "expected")])
def test_an_oracle_without_memory_for_float64_compares_with_the_reference(
    settings: JudgeSettings, rows: int, basis: str
) -> None:
    """The inputs of 120 rows take 240 MiB, 960 in float64, and several times that to perturb them."""
    report = judged(settings, SUMS, HALVES, {"rows": rows, "seed": 1})
    assert (report.outcome, report.reason) == ("passed", ""), report.message + report.evidence.get("operator", "")
    assert {figures["basis"] for check in report.evidence["checks"] for figures in check["figures"]} == {basis}


def model(seconds: float) -> str:
    return MODEL.replace("SECONDS", str(seconds))


def test_a_construction_may_take_as_long_as_the_references(settings: JudgeSettings) -> None:
    source = model(11).replace("class Model(", "class ModelNew(")
    report = judged(settings, source, model(11), {"seed": 1}, interface="model", entry="ModelNew")
    assert (report.outcome, report.reason) == ("passed", ""), report.message


def test_a_construction_that_takes_longer_is_told_the_limit(settings: JudgeSettings) -> None:
    source = model(60).replace("class Model(", "class ModelNew(")
    report = judged(settings, source, model(0.1), {"seed": 1}, interface="model", entry="ModelNew")
    assert (report.outcome, report.reason) == ("timeout", "call")
    assert "No answer within 10 s while ModelNew was being constructed. A construction of ModelNew" in report.message
    assert "4 times Model's own time (0.1 s here)" in report.message


@pytest.mark.parametrize("free", [1 << 10, 1 << 40])
def test_a_case_without_room_is_refused_without_blame(
    settings: JudgeSettings, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    monkeypatch.setattr(Memory, "free_bytes", lambda memory: free)
    small = HALVES.replace("1 << 20", "1 << 12")
    report = judged(settings, SUMS, small, {"rows": 64, "seed": 1}, mode="ranked", ranked_timeout_s=60)
    if free == 1 << 40:
        assert report.outcome in ("passed", "unmeasurable"), report.message + report.evidence.get("operator", "")
        assert [timing["given_up"] for timing in report.evidence["timing"]] == [[]]
        return
    assert (report.outcome, report.reason, report.message) == ("infra_error", "problem", execute.TOO_LARGE)
    assert "of the host's memory beside what all code holds there, 0.0 GiB are free" in report.evidence["operator"]
