"""Output of the `runner` command beside verdicts: oddities of a problem, its own help, and the end of an error."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runner.commands import local, main, replay, verify
from runner.evidence import schema
from runner.job.execute import report_of
from runner.wire import Report
from tests.runner.evidence.test_report_schema import simulated
from tests.runner.judge.simulated import race

SHIPPED = local.LIBRARY / "kernels101" / "vectoradd"
KERNEL = str(SHIPPED / "submissions" / "accepted" / "torch_out.py")
WARNED = ["unknown key nonsense", "unknown key tolerence"]


@pytest.fixture(autouse=True)
def _nothing_is_judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    monkeypatch.setattr(
        local, "judge_here", lambda job, settings, on_event, patience: Report(attempt_id="1", token=0, outcome="wrong")
    )


@pytest.fixture
def misspelt(tmp_path: Path) -> str:
    """The library's problem with a misspelt tolerance."""
    folder = tmp_path / "vectoradd"
    shutil.copytree(SHIPPED, folder, symlinks=True)
    with (folder / "task.yml").open("a") as task:
        task.write("\ntolerence: {rtol: 1.0e-9}\nnonsense: 1\n")
    return str(folder)


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(main.app, list(arguments))


@pytest.mark.parametrize("flags", [(), ("--json",)])
@pytest.mark.parametrize(
    "rest", [("once", KERNEL), ("confirm", KERNEL, "--incumbent", KERNEL), ("verify", "--only", "submissions/wrong")]
)
def test_a_key_that_nobody_reads_is_said(rest: tuple[str, ...], flags: tuple[str, ...], misspelt: str) -> None:
    command, *options = rest
    result = invoke(command, misspelt, *options, *flags)
    _is_warned([line.removeprefix("warning: ") for line in result.stderr.splitlines()])
    if flags:
        _is_warned(json.loads(result.stdout)["warnings"])
    assert invoke(command, "vectoradd", *options, *flags).stderr == ""


def _is_warned(said: list[str]) -> None:
    assert len(said) == len(WARNED)
    assert all(line.startswith(warning) for line, warning in zip(sorted(said), WARNED, strict=True)), said


def test_what_a_script_gets_can_still_be_read_and_replayed(misspelt: str, monkeypatch: pytest.MonkeyPatch) -> None:
    evidence = schema.parse_run(simulated(race(0.5)))
    made = report_of(Report(attempt_id="1", token=0, outcome="infra_error"), evidence, {})
    monkeypatch.setattr(local, "judge_here", lambda job, settings, on_event, patience: made)
    printed = json.loads(invoke("once", misspelt, KERNEL, "--json").stdout)
    assert Report.from_json(printed) == Report.from_json(json.loads(json.dumps(made.to_json())))
    assert replay.replay(printed).same


def test_a_module_that_is_run_is_the_command() -> None:
    command = [sys.executable, "-m", "runner.commands.start"]
    helped = subprocess.run([*command, "--help"], capture_output=True, text=True, timeout=60)
    assert (helped.returncode, "verify" in helped.stdout) == (0, True)
    refused = subprocess.run([*command, "once", "of-nobody", KERNEL], capture_output=True, text=True, timeout=60)
    assert (refused.returncode, refused.stdout) == (2, "")


LINES = [f'  File "/tmp/x/part{n}.py", line {n}, in part' for n in range(100)]
TRACEBACK = "\n".join(["reference.py failed", "Traceback (most recent call last):", *LINES, "ValueError: odd"])


def failed(reason: str, detail: str) -> Report:
    return Report(attempt_id="1", token=0, outcome="infra_error", reason=reason, evidence={"operator": detail})


def test_of_a_long_error_whole_lines_of_both_ends_are_shown() -> None:
    (line,) = verify.admission_lines(failed("problem", TRACEBACK))
    said = line.explained.removeprefix("It could not be tested here. ").splitlines()
    marks = [text for text in said if text.endswith(" characters left out …")]
    assert (said[0], said[-1], len(marks)) == ("reference.py failed", "ValueError: odd", 1)
    assert set(said) - set(marks) <= set(TRACEBACK.splitlines())
    sample = verify.line(verify.Sample("submissions/accepted/a.py", "accepted", ""), failed("sandbox", TRACEBACK))
    assert sample.explained.endswith("\nValueError: odd")


def test_a_sample_that_the_problem_itself_failed_says_why() -> None:
    made = replace(failed("problem", TRACEBACK), message="The problem's own code failed; its organiser has been told.")
    said = verify.line(verify.Sample("submissions/accepted/a.py", "accepted", ""), made).explained
    assert said.startswith("The problem's own code failed, 2 times. It says: reference.py failed")
    assert said.endswith("\nValueError: odd")


@pytest.mark.parametrize("text", ["", "short", "x" * 399, "a\n" * 200, "x" * 5000, "a\n" * 5000, "y\n" + "x" * 5000])
def test_little_more_than_asked_for_is_shown_and_the_end_always(text: str) -> None:
    shown = verify.ends_of(text, 400)
    assert len(shown) <= 450
    assert shown.endswith(text.strip()[-100:])
    if len(text.strip()) <= 400:
        assert shown == text.strip()
