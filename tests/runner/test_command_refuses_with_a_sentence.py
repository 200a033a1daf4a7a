"""What cannot be done ends with exit code 2 and one sentence that says why: no traceback, no verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runner import main, once

KERNEL = str(once.LIBRARY / "kernels101" / "vectoradd" / "submissions" / "accepted" / "torch_out.py")
ONCE = ("once", "vectoradd", KERNEL)
CONFIRM = ("confirm", "vectoradd", KERNEL, "--incumbent", KERNEL)


@pytest.fixture(autouse=True)
def _host_without_docker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none")
    monkeypatch.setenv("RUNNER_HARDWARE", "cpu")
    monkeypatch.setenv("RUNNER_LOCKS", str(tmp_path))
    monkeypatch.setenv("RUNNER_STATE", str(tmp_path))


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(main.app, list(arguments))


def said(result: Any) -> str:
    assert result.exit_code == 2, result.output
    assert isinstance(result.exception, SystemExit)
    return " ".join(result.stderr.split())


@pytest.mark.parametrize("arguments", [ONCE, CONFIRM, ("bench",)], ids=lambda arguments: str(arguments[0]))
def test_without_docker(arguments: tuple[str, ...]) -> None:
    result = invoke(*arguments)
    assert said(result).startswith("no Docker Engine answers")
    assert result.stdout == ""


@pytest.mark.parametrize("arguments", [ONCE, CONFIRM], ids=lambda arguments: str(arguments[0]))
def test_a_script_gets_the_report_as_well(arguments: tuple[str, ...]) -> None:
    result = invoke(*arguments, "--json")
    assert "no Docker Engine answers" in said(result)
    assert json.loads(result.stdout)["outcome"] == "infra_error"


@pytest.mark.parametrize("arguments", [ONCE, CONFIRM, ("bench",)], ids=lambda arguments: str(arguments[0]))
def test_a_step_to_leave_out_that_is_none(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_LEAVE_OUT", "foo")
    assert said(invoke(*arguments)).startswith("RUNNER_LEAVE_OUT: foo is no step of a call; they are freeze,")


def test_nothing_else_is_said() -> None:
    """In a process of its own, where the log goes to stderr, too."""
    command = [sys.executable, "-c", "from runner.main import run; run()", *ONCE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert " ".join(done.stderr.split()).startswith("no Docker Engine answers")
    assert done.stderr.count("no Docker Engine answers") == 1
    assert done.stdout == ""
