"""A KernelBench file in bf16, judged in real containers: an accepted sample and wrong ones."""

from pathlib import Path

import pytest

from problems.formats import kernelbench
from runner.commands import local
from runner.config import JudgeSettings
from tests.conftest import SANDBOX_IMAGE

pytestmark = pytest.mark.docker

FILE = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        return torch.softmax(self.linear(x), dim=-1)

def get_inputs():
    return [torch.randn(32, 64)]

def get_init_inputs():
    return [64]
"""
PROBLEM = kernelbench.parse(FILE, "1_Linear_Softmax.py", 2, "bf16")
FORWARD = "return torch.softmax(self.linear(x), dim=-1)"
ACCEPTED = "y = x.float() @ self.linear.weight.float().T + self.linear.bias.float(); return y.softmax(-1).bfloat16()"
WRONG = {
    "mismatch": f"{FORWARD} * 1.5",
    "dtype": ACCEPTED.removesuffix(".bfloat16()"),
}


def judged(forward: str, locks: Path) -> tuple[str, str]:
    source = PROBLEM.templates["Python"].replace(FORWARD, forward)
    settings = JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=locks)
    job = local.job_from(PROBLEM, source, "mine.py", "test", "cpu")
    report = local.judge_here(job, settings, lambda event: None)
    return report.outcome, report.reason


def test_a_model_in_bf16_may_compute_in_single_precision(tmp_path: Path) -> None:
    assert judged(ACCEPTED, tmp_path) == ("passed", "")


@pytest.mark.parametrize("reason", WRONG)
def test_a_model_in_bf16_with_other_values_or_another_dtype_is_wrong(tmp_path: Path, reason: str) -> None:
    assert judged(WRONG[reason], tmp_path) == ("wrong", reason)
