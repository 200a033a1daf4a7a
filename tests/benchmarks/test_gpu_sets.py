"""benchmarks/gpu/sets.py prepares the public sets, resumes from its journal, and prints a table of it."""

import gzip
import json
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import busy, sets
from problems.spec import Problem
from runner.job import execute
from runner.wire import Report

MODEL = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.rand(8)]

def get_init_inputs():
    return []
"""
TASK = """
files:
  - {name: submission.py, source: "@SUBMISSION@"}
  - {name: reference.py, source: reference.py}
description: Doubles.
benchmarks: [{size: 8, seed: 1}]
gpus: [A100]
"""
REFERENCE = "def generate_input(size, seed): ...\n\n\ndef ref_kernel(data): ...\n"


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    level, problem = tmp_path / "kb" / "level1", tmp_path / "gm" / "double"
    level.mkdir(parents=True)
    problem.mkdir(parents=True)
    (level / "1_Double.py").write_text(MODEL)
    (level / "2_Dice.py").write_text(MODEL.replace("x * 2", "x * torch.rand(8)"))
    (problem.parent / "first.yaml").write_text("name: First\nproblems: [{directory: double, name: double}]\n")
    (problem / "task.yml").write_text(TASK)
    (problem / "reference.py").write_text(REFERENCE)
    counts = sets.prepare(tmp_path / "prepared", tmp_path / "kb", tmp_path / "gm", "fp32")
    assert counts == {"KernelBench level 1": 2, "GPU MODE first": 1}
    return tmp_path / "prepared"


def passed(path: Path, gpu: int, limit_s: float) -> dict[str, Any]:
    return {"outcome": "passed", "ratio": 1.001, "half_width": 0.002, "score_us": 12.3, "flags": []}


def test_a_prepared_file_has_the_bundle_and_the_reference_as_submission(prepared: Path) -> None:
    found = {one["name"]: one for one in (json.loads(path.read_text()) for path in prepared.glob("*.json"))}
    assert set(found) == {"kb1-001-double", "kb1-002-dice", "first/double"}
    model, function = found["kb1-001-double"], found["first/double"]
    assert "class ModelNew(nn.Module)" in model["source"]
    assert Problem.from_bundle(model["problem"]).files == {"reference.py": MODEL}
    assert Problem.from_bundle(function["problem"]).benchmarks == ({"size": 8, "seed": 1},)
    assert "def custom_kernel(data):\n    return ref_kernel(data)\n" in function["source"]
    assert "forward draws random numbers" in found["kb1-002-dice"]["unsupported"]
    with pytest.raises(SystemExit, match="JSON files already"):
        sets.prepare(prepared, None, None, "fp32")


def test_the_devices_working_time_is_measured_on_prepared_files(prepared: Path) -> None:
    double, dice = next(prepared.glob("*001-double.json")), next(prepared.glob("*dice.json"))
    [(problem, source)] = busy.read_pairs([str(double)])
    assert problem.files == {"reference.py": MODEL}
    assert "class ModelNew(nn.Module)" in source
    with pytest.raises(SystemExit, match=r"dice\.json: .*forward draws random numbers"):
        list(busy.read_pairs([str(double), str(dice)]))


def test_a_problem_that_takes_too_long_is_split_by_its_cases(prepared: Path) -> None:
    path = next(prepared.glob("*double.json"))
    told = json.loads(path.read_text())
    cases = [{"size": size, "seed": 1} for size in range(1, 6)]
    told["problem"] |= {"benchmarks": cases, "benchmarks_on": {"A100": cases[1:]}, "tests": cases[:1]}
    path.write_text(json.dumps(told))
    names = list(sets.split(prepared, 3, "A100", [told["name"]]))
    assert names == [f"{told['name']}, part {number} of 3" for number in (1, 2, 3)]
    found = {one["name"]: one for one in (json.loads(path.read_text()) for path in prepared.glob("*.json"))}
    assert told["name"] not in found
    parts = [Problem.from_bundle(found[name]["problem"]) for name in names]
    assert [[case["size"] for case in part.benchmarks] for part in parts] == [[2, 5], [3], [4]]
    assert all(part.tests == tuple(cases[:1]) for part in parts), "each has a test"
    assert {found[name]["source"] for name in names} == {told["source"]}
    assert list(sets.split(prepared, 3, "A100", ["no such name", "dice"])) == [], "an unsupported problem stays whole"


def test_a_problem_that_cannot_be_read_is_no_silent_gap(tmp_path: Path) -> None:
    level = tmp_path / "level1"
    level.mkdir()
    (level / "1_Double.py").write_text("def (")
    with pytest.raises(SystemExit, match=r"level1/1_Double.py: .*does not parse"):
        sets.prepare(tmp_path / "prepared", tmp_path, None, "fp32")


def test_a_run_continues_where_an_interruption_left_it(prepared: Path, tmp_path: Path) -> None:
    journal, judged = tmp_path / "journal", []

    def torn(path: Path, gpu: int, limit_s: float) -> dict[str, Any]:
        judged.append(json.loads(path.read_text())["name"])
        return passed(path, gpu, limit_s)

    assert sets.run(prepared, journal, judge=torn, only=["kb1"]) == 0
    with journal.open("a") as file:
        file.write('{"name": "first/dou')  # the machine was taken away
    assert sets.run(prepared, journal, judge=torn) == 0
    assert judged == ["kb1-001-double", "first/double"]
    assert set(sets.read_journal(journal)) == {"kb1-001-double", "kb1-002-dice", "first/double"}
    assert sets.run(prepared, journal, judge=torn) == 0
    assert len(judged) == 2, "nothing is left"


def test_no_problem_is_started_after_its_seconds(prepared: Path, tmp_path: Path) -> None:
    def slow(path: Path, gpu: int, limit_s: float) -> dict[str, Any]:
        time.sleep(0.2)
        return passed(path, gpu, limit_s)

    assert sets.run(prepared, tmp_path / "journal", judge=slow, seconds=0.1) == 1
    assert sets.run(prepared, tmp_path / "journal", judge=slow, seconds=0) == 1


def test_a_problem_without_room_on_the_hardware_is_not_judged(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RUNNER_HARDWARE", "H100")
    for path in prepared.glob("*kb1-001*"):
        found = json.loads(path.read_text())
        large = {"reference.py": MODEL.replace("rand(8)", "rand(2**31)")}
        path.write_text(json.dumps(found | {"problem": found["problem"] | {"files": large}}))
    journal = tmp_path / "journal"
    assert sets.run(prepared, journal, judge=passed) == 0
    line = sets.read_journal(journal)["kb1-001-double"]
    assert (line["outcome"], "8,192 MiB" in line["reason"]) == (sets.TOO_LARGE, True)


def test_again_judges_what_was_not_good_and_the_last_line_counts(prepared: Path, tmp_path: Path) -> None:
    journal, ratios = tmp_path / "journal", iter([1.05, 1.0, 0.99])
    judge = lambda path, gpu, limit_s: passed(path, gpu, limit_s) | {"ratio": next(ratios)}  # noqa: E731
    sets.run(prepared, journal, judge=judge)
    sets.run(prepared, journal, judge=judge, again=True)
    with pytest.raises(StopIteration):
        next(ratios)
    assert all(map(sets.is_good, (line for line in sets.read_journal(journal).values() if "ratio" in line)))


def test_the_table_has_the_ratio_or_the_stated_reason(prepared: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    told = iter([passed(prepared, 0, 0), {"outcome": "infra_error", "reason": "problem: inputs of 9 GiB | too large"}])
    sets.run(prepared, journal, judge=lambda *given: next(told))
    text = sets.table(sets.read_journal(journal).values())
    assert "| KernelBench level 1 | 2 | 1 | 0 | 1 | 0 |" in text
    assert "| GPU MODE first | 1 | 0 | 0 | 0 | 1 |" in text
    assert "| kb1-001-double | 1.0010 ± 0.2 % | 12.3 |" in text
    assert "infra_error: problem: inputs of 9 GiB \\| too large" in text
    assert "| kb1-002-dice | unsupported: Its forward draws random numbers" in text


@pytest.mark.parametrize(
    ("ratio", "good"), [(0.97, True), (1.03, True), (0.969, False), (1.031, False), (None, False)], ids=str
)
def test_a_ratio_is_good_within_its_range(ratio: float | None, good: bool) -> None:
    line = {"outcome": "passed", "ratio": ratio}
    assert sets.is_good(line) is good
    assert not sets.is_good(line | {"outcome": "wrong"})
    assert sets.verdict(line | {"half_width": None}).startswith("outside") is (ratio is not None and not good)


def test_a_line_keeps_the_operators_detail_of_a_failure() -> None:
    report = Report(
        attempt_id="1",
        token=1,
        outcome="infra_error",
        reason="problem",
        message="The problem failed.",
        evidence={"operator": "data[0]: 9 GiB, at most 8.7 GiB", "fingerprint": {"gpu": "NVIDIA H200"}},
    )
    line = sets.line_of(report)
    assert line["reason"] == "problem: The problem failed.: data[0]: 9 GiB, at most 8.7 GiB"
    assert (line["device"], line["ratio"]) == ("NVIDIA H200", None)


def test_a_judge_that_dies_or_hangs_leaves_a_line(tmp_path: Path) -> None:
    missing, reports = tmp_path / "missing.json", tmp_path / "reports.gz"
    died = sets.judge_apart(missing, 0, 60.0, reports=reports)
    assert died["outcome"] == sets.DIED
    assert "FileNotFoundError" in died["reason"]
    assert sets.judge_apart(missing, 0, 0.01, reports=reports)["outcome"] == sets.OVER
    assert not reports.exists()


def test_a_line_over_the_limit_says_where_its_judge_stood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "python"
    program.write_text(
        "#!/bin/sh\necho 'course: checking {}, 10:00:00' >&2\necho 'course: timing {}, 10:00:09' >&2\nexec sleep 60"
    )
    program.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(program))
    line = sets.judge_apart(tmp_path / "slow.json", 0, 3.0, reports=tmp_path / "reports.gz")
    assert line["outcome"] == sets.OVER
    assert line["reason"].endswith("It stood at: timing {}, 10:00:09")


def test_reports_of_all_problems_are_lines_of_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports, report = tmp_path / "journal.jsonl.reports.gz", Report("1", 1, "wrong")

    def judged(process: subprocess.Popen[bytes], limit_s: float, turn: threading.Lock) -> bool:
        process.communicate()
        Path(process.args[-1]).write_text(json.dumps(report.to_json()))  # type: ignore[index, arg-type]
        return True

    monkeypatch.setattr(sets, "_ended", judged)
    for name in ("one", "two"):
        assert sets.judge_apart(tmp_path / f"{name}.json", 0, 60.0, reports=reports)["outcome"] == "wrong"
    with gzip.open(reports, "rt") as file:
        lines = [json.loads(text) for text in file]
    assert [line["file"] for line in lines] == ["one", "two"]
    assert all(Report.from_json(line["report"]) == report for line in lines)


@pytest.mark.parametrize(
    ("outcome", "reason", "lacks"),
    [
        ("infra_error", f"problem: {execute.TOO_LARGE}", True),
        ("out_of_memory", "judge: Your code left too little memory for the judge: it took 21.7 GiB.", True),
        ("out_of_memory", "candidate: Your code used more than its memory.", False),
        (sets.DIED, "sandbox.container.SandboxError: no 4294967296 bytes of device memory", True),
        (sets.DIED, "FileNotFoundError", False),
        ("passed", "", False),
    ],
)
def test_failures_that_room_beside_another_judge_explains(outcome: str, reason: str, lacks: bool) -> None:
    assert sets.lacks_memory({"outcome": outcome, "reason": reason}) is lacks
