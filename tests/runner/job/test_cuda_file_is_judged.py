"""A `lang: cu` problem whose reference names cuda, judged on `cpu` hardware in real containers."""

from dataclasses import replace
from pathlib import Path

import pytest

from problems.formats.gpumode import load_problem
from problems.spec import Problem
from runner.commands import local, verify
from runner.config import JudgeSettings
from runner.judge.cases import SECRET_CASES
from runner.judge.data.memory import Memory
from runner.judge.data.room import PLACES
from runner.wire import Report
from tests.conftest import SANDBOX_IMAGE

FOLDER = Path(__file__).parents[2] / "problems" / "scale_cu"
PROBLEM = replace(load_problem(FOLDER), ranked_timeout_s=40.0)  # a busy machine lengthens no case for long

pytestmark = pytest.mark.docker


def judged(problem: Problem, source: str, filename: str, mode: str, locks: Path) -> Report:
    settings = JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=locks)
    job = local.job_from(problem, source, filename, mode, "cpu")
    return local.judge_here(job, settings, lambda event: None)


@pytest.mark.parametrize("moves", [False, True], ids=["in one place", "in several places, as on a GPU"])
def test_it_passes_and_is_timed_beside_the_reference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    monkeypatch.setattr(Memory, "moves", moves)
    report = judged(PROBLEM, (FOLDER / "template.cu").read_text(), "mine.cu", "benchmark", tmp_path)
    assert (report.outcome, report.message) in (("passed", ""), ("unmeasurable", report.message))
    assert all(check["good"] for check in report.evidence["checks"])
    assert len(report.evidence["checks"]) == 2 + SECRET_CASES  # public and secret checks, timed cases included
    assert [timing["places"] for timing in report.evidence["timing"]] == [PLACES if moves else 1]


def test_its_samples_get_the_verdicts_of_their_folders(tmp_path: Path) -> None:
    (wrong,) = [one for one in verify.in_folders(FOLDER) if one.expected == "wrong"]
    report = judged(verify.asked(PROBLEM, wrong), wrong.source, wrong.filename, "test", tmp_path)
    assert report.outcome == "wrong"
    assert report.reason in ("mismatch", "nan"), "what is left out is a random pattern, a NaN at times"


def test_the_admission_test_answers_it_in_python(tmp_path: Path) -> None:
    settings = JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=tmp_path)
    report = local.judge_here(local.admission_job(PROBLEM, "cpu"), settings, lambda event: None)
    assert report.outcome == "passed", report.message


def test_what_the_compiler_says_reaches_the_author(tmp_path: Path) -> None:
    source = (FOLDER / "template.cu").read_text().replace("return 0;", "return zero;")
    report = judged(PROBLEM, source, "mine.cu", "test", tmp_path)
    assert (report.outcome, report.reason) == ("build_error", "compile")
    assert "error: 'zero' was not declared" in report.message
