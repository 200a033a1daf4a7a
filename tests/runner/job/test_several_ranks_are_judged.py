"""Problems for two devices in real containers: every sample gets its verdict, and so do timings and admission tests."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from runner.commands import local
from runner.config import JudgeSettings
from runner.wire import Job, Report
from sandbox import policy
from tests.conftest import SANDBOX_IMAGE

pytestmark = pytest.mark.docker

FOLDER = Path(__file__).parents[3] / "benchmarks" / "gpu" / "ranks"
PROBLEMS = {name: local.find_problem(str(FOLDER / name)) for name in ("all_to_all", "gemm_reduce_scatter")}
VERDICTS = {
    "accepted": ("passed", ""),
    "wrong": ("wrong", "mismatch"),
    "hanging": ("timeout", "call"),
    "cheating": ("wrong", "mismatch"),
}


def judged(job: Job, locks: Path) -> Report:
    settings = JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=locks)
    return local.judge_here(job, settings, lambda event: None)


@pytest.mark.parametrize("sample", VERDICTS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_each_sample_gets_its_verdict(tmp_path: Path, name: str, sample: str) -> None:
    quick = replace(PROBLEMS[name], test_timeout_s=15.0)  # a first call may take 10
    path = FOLDER / name / "submissions" / f"{sample}.py"
    report = judged(local.job_of(quick, path, "test", "cpu"), tmp_path)
    assert (report.outcome, report.reason) == VERDICTS[sample], report.message
    if sample == "hanging":
        assert "from rank 0" in report.message


ENDING = """
import ctypes
import os

import torch.distributed as dist


def custom_kernel(data):
    x, scale = data
    if dist.get_rank():
        {end}
    dist.barrier()
    return x
"""


@pytest.mark.parametrize(
    ("end", "outcome", "reason"),
    [
        ("ctypes.string_at(0)", "runtime_error", "crashed"),
        ("os._exit(0)", "runtime_error", "exited"),
        ("kept = [bytearray(1 << 28) for _ in range(1 << 20)]", "out_of_memory", "limit"),
    ],
    ids=["crash", "exit", "memory"],
)
def test_a_rank_that_ends_ends_the_call_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, outcome: str, reason: str
) -> None:
    whole = policy.of_ranks

    def of_ranks(ranks: int, role: Callable[..., policy.Policy]) -> Callable[..., policy.Policy]:
        return lambda *given: replace(whole(ranks, role)(*given), memory_bytes=2 << 30)

    monkeypatch.setattr(policy, "of_ranks", of_ranks)  # quickly full
    (path := tmp_path / "submission.py").write_text(ENDING.format(end=end))
    report = judged(local.job_of(PROBLEMS["all_to_all"], path, "test", "cpu"), tmp_path)
    assert (report.outcome, report.reason) == (outcome, reason), report.message


def test_all_ranks_are_timed_as_one_call(tmp_path: Path) -> None:
    problem = replace(PROBLEMS["all_to_all"], benchmarks=({"rows": 8, "width": 64, "seed": 3},))
    path = FOLDER / "all_to_all" / "submissions" / "accepted.py"
    report = judged(local.job_of(problem, path, "ranked", "cpu"), tmp_path)
    assert report.outcome in ("passed", "unmeasurable"), report.message
    (timing,) = report.evidence["timing"]
    assert {call[0] > 0 for quad in timing["quads"] for block in quad["blocks"] for call in block["calls"]} == {True}


def test_a_problem_for_two_devices_passes_its_admission_test(tmp_path: Path) -> None:
    report = judged(local.admission_job(PROBLEMS["gemm_reduce_scatter"], "cpu"), tmp_path)
    assert report.outcome == "passed", (report.message, report.evidence.get("operator"))


def test_the_profilers_are_left_out_with_a_reason(tmp_path: Path) -> None:
    path = FOLDER / "all_to_all" / "submissions" / "accepted.py"
    report = judged(local.job_of(PROBLEMS["all_to_all"], path, "profile", "cpu"), tmp_path)
    assert report.outcome in ("passed", "unmeasurable"), report.message
    assert "several GPUs" in str(report.profile["notes"])
