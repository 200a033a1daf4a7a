"""The admission test sends each starter in test mode and reports the outcome; in real containers."""

from pathlib import Path

import pytest

from problems.spec import Problem
from runner.commands import local
from runner.config import JudgeSettings
from tests.conftest import SANDBOX_IMAGE

pytestmark = pytest.mark.docker

# As in a public set: the reference answers in float64, and its own check looks at values alone.
REFERENCE = """
import torch
def generate_input(*, size, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(size, generator=generator), torch.empty(size)
def ref_kernel(data):
    return torch.cumsum(data[0].to(torch.float64), dim=0)
def check_implementation(data, output):
    wanted = ref_kernel(data)
    good = bool(torch.allclose(output.to(torch.float64), wanted, rtol=1e-5, atol=1e-4))
    return good, "" if good else "mismatch found!"
"""
FLOAT32 = "import torch\ndef custom_kernel(data):\n    return torch.cumsum(data[0], dim=0)\n"
FORM_ONLY = "def custom_kernel(data):\n    pass\n"


def problem() -> Problem:
    return Problem(
        slug="prefixsum",
        title="Prefix sum",
        description="Sums.",
        files={"reference.py": REFERENCE},
        templates={"Python": FLOAT32, "C": FORM_ONLY, "CUDA": "no Python at all", "HIP": "nor this"},
        tests=({"size": 33, "seed": 1},),
        benchmarks=({"size": 2000, "seed": 2},),
        ranking_by="geom",
        gpus=("cpu",),
    )


def settings(tmp_path: Path) -> JudgeSettings:
    return JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=tmp_path)


def test_admission_reports_each_starter_and_holds_none_against_the_problem(tmp_path: Path) -> None:
    report = local.judge_here(local.admission_job(problem(), "cpu"), settings(tmp_path), lambda event: None)
    assert report.outcome == "passed", report.admission
    starters = {line["name"]: line for line in report.admission["lines"] if line["name"].startswith("starter/")}
    assert list(starters) == ["starter/C", "starter/Python"], "those of a GPU cannot run here"
    assert (starters["starter/C"]["got"], starters["starter/C"]["good"]) == ("wrong (none)", None)
    assert "None" in starters["starter/C"]["explained"]
    assert (starters["starter/Python"]["got"], starters["starter/Python"]["good"]) == ("passed", True)
    (half,) = [line for line in report.admission["lines"] if line["name"] == "admission/half"]
    assert half["good"] is not False


@pytest.mark.parametrize(
    ("change", "outcome"), [("", "passed"), ("[:-1].contiguous()", "wrong"), (".to(torch.int64)", "wrong")]
)
def test_a_result_of_another_floating_dtype_is_left_to_the_problems_own_check(
    tmp_path: Path, change: str, outcome: str
) -> None:
    source = FLOAT32.replace("dim=0)", f"dim=0){change}")
    job = local.job_from(problem(), source, "mine.py", "test", "cpu")
    report = local.judge_here(job, settings(tmp_path), lambda event: None)
    assert report.outcome == outcome, report.message
