"""`photofinish problem new` writes a folder that the judge can read; `check` hands it to the judge, or explains how."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leaderboard.cli import problem
from leaderboard.cli.config import Misuse
from leaderboard.cli.main import app
from runner.admission import examine
from runner.commands import verify
from tests.cli.conftest import Photofinish
from tests.problems.conftest import load_set
from tests.runner.job.test_told_to_end_it_clears_away import HEEDING


def made(folder: Path, name: str = "my-first") -> Path:
    result = CliRunner().invoke(app, ["problem", "new", name, "--into", str(folder)])
    assert result.exit_code == 0, result.output
    return folder / name


def test_the_folder_is_a_set_that_loads_without_a_warning(tmp_path: Path) -> None:
    made(tmp_path)
    found = load_set(tmp_path / "my-first.yaml")
    (entry,) = found.entries
    assert (entry.slug, entry.problem.unsupported, found.warnings, entry.problem.warnings) == ("my-first", "", (), ())
    assert examine.declared(entry.problem, (), {}).good


def test_it_brings_a_sample_for_every_verdict(tmp_path: Path) -> None:
    found = [sample.expected for sample in verify.in_folders(made(tmp_path))]
    assert set(found) == {"accepted", "wrong", "slow", "cheating"}
    assert found.count("accepted") == 2


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (made(tmp_path) / "task.yml").write_text("mine")
    with pytest.raises(Misuse, match="there already"):
        problem.write("my-first", tmp_path)
    assert (tmp_path / "my-first" / "task.yml").read_text() == "mine"


@pytest.mark.parametrize("name", ["", "../up", "A b", "-x", "x" * 65])
def test_a_name_that_no_board_can_have_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="cannot be a board's name"):
        problem.new(name, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("command", [("problem", "check"), ("problem", "new", "x", "--into"), ("skill", "--into")])
def test_path_that_cannot_be_read_is_a_clear_error(photofinish: Photofinish, command: tuple[str, ...]) -> None:
    ended = photofinish(*command, "x" * 300)
    assert (ended.code, ended.out) == (2, "")
    assert "File name too long" in ended.err


@pytest.fixture
def runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `runner` on the path that prints its arguments and ends with code 1."""
    judge = tmp_path / "bin" / "runner"
    judge.parent.mkdir()
    judge.write_text('#!/bin/sh\necho "$@"\nexit 1\n')
    judge.chmod(0o755)
    monkeypatch.setenv("PATH", str(judge.parent), prepend=os.pathsep)
    return judge


PHOTOFINISH = (*HEEDING, sys.executable, "-m", "leaderboard.cli.start")


@pytest.mark.usefixtures("runner")
def test_check_starts_the_judge_and_ends_as_it_does(tmp_path: Path) -> None:
    folder = made(tmp_path)
    command = [*PHOTOFINISH, "problem", "check", str(folder), "--only", "admission/"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.split() == ["verify", str(folder), "--only", "admission/"]


@pytest.mark.usefixtures("runner")
@pytest.mark.parametrize("options", [["softmax", "kernel.py", "--json", "--mode", "test"], ["--help"], []])
def test_run_passes_its_arguments_to_the_judge(options: list[str]) -> None:
    done = subprocess.run([*PHOTOFINISH, "run", *options], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.split() == ["once", *options]


SLOW_TO_CLEAN = """#!{python}
import signal, sys, time
def clean(number, frame):
    time.sleep(0.5)
    print("cleaned", flush=True)
    sys.exit(128 + number)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, clean)
print("ready", flush=True)
time.sleep(30)
"""


@pytest.mark.parametrize(("send", "number"), [(os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)])
def test_signal_that_ends_a_run_leaves_the_judge_its_time_to_clean(
    runner: Path, send: Callable[[int, int], None], number: int
) -> None:
    """A terminal sends Ctrl-C to the group of processes, and a supervisor SIGTERM to its child alone."""
    runner.write_text(SLOW_TO_CLEAN.format(python=sys.executable))
    command = [*PHOTOFINISH, "run", "softmax", "kernel.py"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        send(run.pid, number)
        assert (run.wait(10), run.stdout.read()) == (128 + number, "cleaned\n")


def test_without_a_judge_it_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Misuse, match="runner verify"):
        problem.check(made(tmp_path))
    result = CliRunner().invoke(app, ["run", "softmax", "my kernel.py"])
    assert isinstance(result.exception, Misuse)
    assert "in a checkout of Photofinish, run: runner once softmax 'my kernel.py'" in str(result.exception)
    with pytest.raises(Misuse, match=r"no task\.yml"):
        problem.check(tmp_path)
