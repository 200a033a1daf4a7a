"""`runner` and `photofinish` without a writable output, and on Ctrl-C at any moment: no traceback, and a reliable exit
code."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.commands import local
from tests.runner.job.test_told_to_end_it_clears_away import HEEDING

BOTH = ("runner.commands.start", "leaderboard.cli.start")
KERNEL = local.LIBRARY / "kernels101" / "vectoradd" / "submissions" / "accepted" / "torch_out.py"
WHILE_IT_LOADS = """
import os, signal, sys
class Press:
    def find_spec(self, name, *_):
        if name == "typer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
from {command} import run
run()
"""
WHILE_IT_BEGINS = """
import os, signal
import typer.main
typer.main.get_command = lambda *_: os.kill(os.getpid(), signal.SIGINT)
from {command} import run
run()
"""


def done(*arguments: str, **options: Any) -> tuple[int, str]:
    """Exit code and stderr."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    ended = subprocess.run([sys.executable, *arguments], text=True, timeout=60, **options)
    assert "Traceback" not in (ended.stdout or "") + (ended.stderr or "")
    return ended.returncode, ended.stderr or ""


@pytest.mark.parametrize("command", BOTH)
def test_a_full_disk_behind_stdout(command: str) -> None:
    with open("/dev/full", "w") as full:
        code, said = done("-m", command, "--help", stdout=full)
    assert (code, "output cannot be written: No space left on device" in said) == (2, True)


@pytest.mark.parametrize("command", BOTH)
def test_a_stdout_for_reading_alone(command: str) -> None:
    with open(os.devnull) as readable:
        code, said = done("-m", command, "--help", stdout=readable)
    assert (code, "output cannot be written: Bad file descriptor" in said) == (2, True)


@pytest.mark.parametrize("command", BOTH)
def test_a_closed_stdout_is_no_fault(command: str) -> None:
    assert done("-m", command, "--help", preexec_fn=lambda: os.close(1), stdout=None) == (0, "")


@pytest.mark.parametrize(
    "arguments",
    [("runner.commands.start", "once", "vectoradd", "none.py"), ("leaderboard.cli.start", "submit", "none.py")],
)
def test_a_full_disk_behind_stderr(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "w") as full:
        assert done("-m", *arguments, stderr=full) == (2, "")


def test_a_terminal_that_cannot_show_a_character_shows_another(tmp_path: Path) -> None:
    code, said = done(
        "-m", "runner.commands.start", "replay", str(tmp_path / "\u00b5.json"), env={**os.environ, **ASCII}
    )
    assert (code, "?.json: No such file or directory" in said) == (2, True)


ASCII = {"PYTHONIOENCODING": "ascii:strict"}


@pytest.mark.parametrize("command", BOTH)
@pytest.mark.parametrize(("moment", "code"), [(WHILE_IT_LOADS, -signal.SIGINT), (WHILE_IT_BEGINS, 130)])
def test_ctrl_c_ends_it_without_a_word(command: str, moment: str, code: int) -> None:
    text = moment.format(command=command)
    ended = subprocess.run([*HEEDING, sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", "")


def test_a_submission_may_come_through_a_pipe(tmp_path: Path) -> None:
    engine = {"DOCKER_HOST": f"unix://{tmp_path}/none", "RUNNER_LOCKS": str(tmp_path), "RUNNER_STATE": str(tmp_path)}
    asked = ("-m", "runner.commands.start", "once", "vectoradd", "/dev/stdin")
    code, said = done(*asked, input=KERNEL.read_text(), env={**os.environ, **engine, "RUNNER_HARDWARE": "cpu"})
    assert (code, said.startswith("no Docker Engine answers")) == (2, True)
