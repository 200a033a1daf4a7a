"""`runner verify`: each sample submission must get the verdict of its folder, and no problem may accept zeros."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from problems.formats import kernelbench
from problems.spec import Problem
from runner.admission import examine
from runner.commands import local, main, verify
from runner.commands.verify import Sample
from runner.config import JudgeSettings
from runner.wire import MAX_SOURCE_BYTES, Report
from tests.conftest import SANDBOX_IMAGE

PROBLEM = local.find_problem("vectoradd")
FINDING = {"findings": [{"rule": "too_fast"}]}


def sample(expected: str, name: str = "submissions/x/a.py", **changes: Any) -> Sample:
    return replace(Sample(name, expected, "", "ranked"), **changes)


def report(outcome: str = "passed", **changes: Any) -> Report:
    return replace(Report(attempt_id="1", token=0, outcome=outcome), **changes)


@pytest.mark.parametrize(
    ("expected", "made", "good"),
    [
        ("accepted", report(), True),
        ("accepted", report("wrong"), False),
        ("accepted", report(evidence=FINDING), False),
        ("accepted", report("infra_error"), False),
        ("wrong", report("wrong"), True),
        ("wrong", report(), False),
        ("wrong", report("runtime_error"), False),
        ("slow", report(ratio=1.3), True),
        ("slow", report(ratio=1.1), False),
        ("slow", report("timeout"), True),
        ("slow", report("wrong"), False),
        ("cheating", report("policy"), True),
        ("cheating", report("wrong"), True),
        ("cheating", report(evidence=FINDING), True),
        ("cheating", report(), False),
        ("cheating", report("infra_error"), False),
        ("cheating", report("unmeasurable"), False),
    ],
)
def test_the_verdict_must_be_that_of_the_folder(expected: str, made: Report, good: bool) -> None:
    line = verify.line(sample(expected), made)
    assert line.good is good
    assert bool(line.explained) is not good


def test_what_could_not_be_measured_is_judged_again_once() -> None:
    outcomes = iter(["unmeasurable", "passed", "unmeasurable", "unmeasurable"])
    lines = list(verify.verify([sample("accepted"), sample("accepted")], lambda one: report(next(outcomes)), "cpu"))
    assert [line.good for line in lines] == [True, False]
    assert "could not be judged here, 2 times" in lines[1].explained
    assert verify.exit_code(lines) == 2


@pytest.mark.parametrize(
    ("made", "code"),
    [
        ([], 2),
        ([report()], 0),
        ([report("wrong")], 1),
        ([report("infra_error", reason="sandbox")], 2),
        ([report("infra_error", reason="problem")], 1),
        ([report(), report("infra_error", reason="sandbox")], 2),
        ([report("wrong"), report("unmeasurable")], 1),
    ],
)
def test_what_this_machine_failed_at_is_no_other_verdict(made: list[Report], code: int) -> None:
    assert verify.exit_code([verify.line(sample("accepted"), one) for one in made]) == code


@pytest.mark.parametrize(
    ("top", "judged"),
    [
        ("", True),
        ("#!PHOTOFINISH leaderboard x\n#!PHOTOFINISH gpu CPU\n", True),
        ("#!POPCORN gpus H200 cpu\n", True),
        ("#!PHOTOFINISH gpu H200\n", False),
        ("// for the big one\n//!popcorn gpus H200 B200\n", False),
        ("x = 1\n#!PHOTOFINISH gpu H200\n", True),
    ],
)
def test_a_sample_for_other_hardware_is_left_out_and_counts_for_nothing(top: str, judged: bool) -> None:
    seen: list[Sample] = []

    def judge(one: Sample) -> Report:
        seen.append(one)
        return report()

    (line,) = verify.verify([sample("accepted", source=top)], judge, "cpu")
    assert (bool(seen), line.good) == (judged, True if judged else None)
    assert judged or "is for H200" in line.got
    assert verify.exit_code([line]) == (0 if judged else 2)
    assert verify.exit_code([line, verify.Expectation("admission/zeros", "wrong", "wrong", True)]) == 0


def test_samples_are_found_in_both_conventions(tmp_path: Path) -> None:
    for place in (*verify.FOLDERS, "submissions/other"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "a.py").write_text("x = 1")
    (tmp_path / "submissions/accepted/notes.txt").write_text("no sample")
    found = {one.name: one.expected for one in verify.in_folders(tmp_path)}
    assert found == {f"{place}/a.py": expected for place, expected in verify.FOLDERS.items()}


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.write_bytes(b"x = '\xff'"), "not UTF-8"),
        (lambda path: path.write_bytes(b"#" * (MAX_SOURCE_BYTES + 1)), "at most 1,000,000 bytes"),
        (lambda path: path.write_bytes(b"\xef\xbb\xbf\n"), "only blanks"),
        (lambda path: path.mkdir(), "is no file in the problem's folder"),
        (lambda path: path.symlink_to("nowhere"), "is no file in the problem's folder"),
        (lambda path: path.symlink_to(path), "is no file in the problem's folder"),
        (lambda path: path.symlink_to(__file__), "is no file in the problem's folder"),
        (os.mkfifo, "is no file in the problem's folder"),
    ],
)
def test_a_sample_that_could_not_be_submitted_is_named(
    tmp_path: Path, make: Callable[[Path], object], says: str
) -> None:
    path = tmp_path / "submissions/accepted/z.py"
    path.parent.mkdir(parents=True)
    make(path)
    with pytest.raises(local.UsageError, match=says) as caught:
        list(verify.in_folders(tmp_path))
    assert str(path) in str(caught.value)


def test_a_byte_order_mark_hides_no_directive(tmp_path: Path) -> None:
    (tmp_path / "submissions/accepted").mkdir(parents=True)
    (tmp_path / "template.py").write_bytes(b"\xef\xbb\xbf#!PHOTOFINISH gpu H200\nx = 1\n")
    (tmp_path / "submissions/accepted/linked.py").symlink_to("../../template.py")
    (line,) = verify.verify(list(verify.in_folders(tmp_path)), lambda one: report(), "cpu")
    assert "is for H200" in line.got


def test_the_sample_of_a_kernelbench_file_is_its_own_model() -> None:
    file = "class Model: ...\ndef get_inputs(): return []\ndef get_init_inputs(): return []\n"
    (sample,) = verify.starters(kernelbench.parse(file, "1_Nothing.py", 1))
    assert (sample.expected, "class ModelNew" in sample.source) == ("accepted", True)


def test_a_test_that_could_not_be_done_is_one_bad_line() -> None:
    failed = report("infra_error", reason="problem", evidence={"operator": "reference.py: no module named x"})
    (line,) = verify.admission_lines(failed)
    assert (line.good, "no module named x" in line.explained) == (False, True)
    done = report(
        "wrong", admission={"lines": [verify.Expectation("admission/zeros", "wrong", "passed", False).to_json()]}
    )
    assert [line.name for line in verify.admission_lines(done)] == ["admission/zeros"]


# -- what the admission test's submissions return -------------------------------------------------------------------


def variant(name: str, problem: Problem = PROBLEM) -> Any:
    """The entry of one variant, as a tenant would load it. It lacks the problem's remaining files: vectoradd's variants
    need none."""
    source = examine.source(problem, (name,))
    module: dict[str, Any] = {"__name__": "submission"}
    try:
        exec(compile(source, "submission.py", "exec"), module)
    finally:
        sys.modules.pop("reference", None)
    return module[problem.entry]


REFERENCE = """
import torch
def generate_input(*, size, seed):
    return torch.zeros(size), torch.zeros(size)
def ref_kernel(data):
    x, out = data
    torch.softmax(x, 0, out=out)
    return out
"""
PAIR = """
import torch
def ref_kernel(data):
    return {"sum": data["x"] + data["y"], "count": torch.tensor([data["x"].numel()])}
"""
SOFTMAX = replace(PROBLEM, files={"reference.py": REFERENCE})
SUM = replace(PROBLEM, files={"reference.py": PAIR})


def test_each_variant_returns_what_it_is_called() -> None:
    torch = pytest.importorskip("torch")
    x = torch.tensor([0.5, 1.5, -1.0])
    right = torch.softmax(x, 0)

    def called(name: str) -> Any:
        out = torch.full((3,), float("nan"))
        result = variant(name, SOFTMAX)((x.clone(), out))
        assert torch.equal(result, out), "what is written in place is what is returned"
        return result

    assert torch.equal(called("reference"), right)
    assert torch.equal(called("zeros"), torch.zeros(3))
    assert torch.equal(called("ones"), torch.ones(3))
    assert torch.allclose(called("constant"), torch.full((3,), 1 / 3))
    assert torch.equal(called("input"), x)
    half = called("half")
    assert not torch.equal(half, right)
    assert torch.allclose(half, right, atol=1e-3)
    assert torch.allclose(called("margin"), right, atol=1e-6)


def test_the_margin_is_four_times_the_error_of_the_working_precision() -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.rand(1000), torch.rand(1000)
    exact = (x.double() + y.double(), x + y)
    moved = variant("margin", SUM)({"x": x, "y": y})["sum"].double()
    error = float((exact[1].double() - exact[0]).abs().max())
    assert float((moved - exact[0]).abs().max()) == pytest.approx(4 * error, rel=0.3)


def test_the_previous_output_comes_one_call_late() -> None:
    torch = pytest.importorskip("torch")
    kernel = variant("previous", SUM)
    for size in (2, 3):
        with pytest.raises(Exception, match="first outputs of their shapes"):
            kernel({"x": torch.ones(size), "y": torch.ones(size)})
    assert kernel({"x": torch.zeros(2), "y": torch.ones(2)})["sum"].tolist() == [2, 2]
    assert kernel({"x": torch.zeros(2), "y": torch.ones(2)})["sum"].tolist() == [1, 1]


def test_nested_results_keep_their_structure_and_types() -> None:
    torch = pytest.importorskip("torch")
    result = variant("zeros", SUM)({"x": torch.ones(2), "y": torch.ones(2)})
    assert (result["sum"].tolist(), result["count"].tolist(), result["count"].dtype) == ([0, 0], [0], torch.int64)


def test_half_of_half_precision_does_not_apply() -> None:
    torch = pytest.importorskip("torch")
    x = torch.ones(2, dtype=torch.bfloat16)
    with pytest.raises(Exception, match="half precision"):
        variant("half", SUM)({"x": x, "y": x})


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_command_refuses_what_it_cannot_judge(tmp_path: Path) -> None:
    (tmp_path / "task.yml").write_text("files: [")
    cuda = tmp_path / "cuda"
    cuda.mkdir()
    (cuda / "task.yml").write_text("files: []\nlang: cu\nbenchmarks: [{n: 1}]\n")
    for arguments, says in (
        ([str(cuda)], "cannot be judged here"),
        (["nothing"], "neither a folder with a task.yml or a problem.json nor in the library"),
        ([str(tmp_path)], "task.yml"),
        (["vectoradd", "--only", "no/such"], "no sample's name begins so"),
    ):
        result = CliRunner().invoke(main.app, ["verify", *arguments])
        assert result.exit_code == 2
        assert says in " ".join(result.stderr.split())


def test_where_nothing_is_for_this_hardware_nothing_was_judged(tmp_path: Path) -> None:
    folder = shutil.copytree(local.find_folder("vectoradd"), tmp_path / "a", ignore=lambda *_: ["submissions"])
    (folder / "submissions/accepted").mkdir(parents=True)
    (folder / "submissions/accepted/cuda.py").write_text("#!PHOTOFINISH gpu H200\nx = 1\n")
    result = CliRunner().invoke(main.app, ["verify", str(folder), "--only", "submissions/"])
    assert result.exit_code == 2, result.stderr
    said = " ".join(result.stdout.split())
    assert "submissions/accepted/cuda.py: left out: it is for H200, this is cpu" in said
    assert "Nothing was judged" in said


def test_without_the_judges_packages_it_says_what_to_install() -> None:
    start = "import sys; sys.modules['pydantic_settings'] = None; from runner.commands.main import run; run()"
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pydantic_settings, which is not installed here" in done.stderr
    assert done.stderr.strip().endswith("pip install -c constraints.txt -e '.[runner]'")
    assert "Traceback" not in done.stderr


@pytest.mark.docker
def test_a_problem_of_the_library_is_admitted(tmp_path: Path) -> None:
    settings = JudgeSettings(sandbox_image=SANDBOX_IMAGE, runner_hardware="cpu", runner_locks=tmp_path)
    smaller = replace(PROBLEM, benchmarks=({**PROBLEM.benchmarks[0], "size": 400_000},))
    job = local.admission_job(smaller, "cpu")
    made = local.judge_here(job, settings, lambda event: None)
    got = [line.got for line in verify.admission_lines(made)]
    if any("starved" in one or "timeout (import)" in one for one in got):  # other tests had the cores: ask again
        made = local.judge_here(job, settings, lambda event: None)
    assert made.outcome == "passed", made.admission
    found = verify.admission_lines(made)
    assert [line for line in found if not line.good] == []
    assert [line.name for line in found[13:]] == ["starter/C", "starter/C++", "starter/Python"]


def test_without_its_sandbox_it_says_that_nothing_could_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = report("infra_error", reason="sandbox", evidence={"operator": "Docker does not answer"})
    monkeypatch.setattr(local, "judge_here", lambda job, settings, on_event, patience: failed)
    result = CliRunner().invoke(main.app, ["verify", "vectoradd", "--only", "submissions/wrong"])
    said = " ".join(result.stdout.split())
    assert result.exit_code == 2
    assert "could not be judged here: submissions/wrong/" in said
    assert "got another verdict" not in said


def test_its_json_is_for_scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "judge_here", lambda job, settings, on_event, patience: report("wrong"))
    result = CliRunner().invoke(main.app, ["verify", "vectoradd", "--only", "submissions/wrong", "--json"])
    assert result.exit_code == 0
    assert [line["got"] for line in json.loads(result.stdout)["lines"]] == ["wrong"]
