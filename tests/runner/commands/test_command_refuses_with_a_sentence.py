"""An impossible request ends with exit code 2 and one sentence with the reason: no traceback, no verdict."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from runner import config
from runner.commands import local, main
from runner.errors import ConfigError

KERNEL = str(local.LIBRARY / "kernels101" / "vectoradd" / "submissions" / "accepted" / "torch_out.py")
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
    """The command runs in its own process, where the log goes to stderr, too."""
    command = [sys.executable, "-m", "runner.commands.start", *ONCE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert " ".join(done.stderr.split()).startswith("no Docker Engine answers")
    assert done.stderr.count("no Docker Engine answers") == 1
    assert done.stdout == ""


def test_a_setting_that_cannot_be_shows_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_GPU", "first")
    assert said(invoke("doctor")).startswith("RUNNER_GPU: 'first': Input should be a valid integer")


def test_a_secret_that_cannot_be_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PHOTOFINISH_URL": "https://a.example",
        "BROKER_URL": "redis://x",
        "RUNNER_TOKEN": "hunter",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=r"RUNNER_TOKEN: .* at least 8") as refused:
        config.load()
    assert "hunter" not in str(refused.value)


def test_a_measurement_that_could_not_be_stored_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_STATE", "/proc/nowhere")
    assert said(invoke("bench")).startswith("RUNNER_STATE: cannot write /proc/nowhere/ceilings")


def test_a_file_for_other_hardware_is_told(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    source = Path(KERNEL).read_text()
    kernel.write_text(source.replace("gpu cpu", "gpus H200 B200"))
    result = invoke("once", "vectoradd", str(kernel))
    assert f"{kernel} says that it is for H200, B200; here it is judged as cpu (RUNNER_HARDWARE)" in said(result)
    kernel.write_text(source.replace("gpu cpu", "gpus H200 CPU"))
    assert "says that it is for" not in said(invoke("once", "vectoradd", str(kernel)))


def test_a_setting_in_two_spellings_shows_neither_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_GPU", "0")
    monkeypatch.setenv("runner_gpu", "first")
    assert said(invoke("doctor")).startswith("RUNNER_GPU: Input should be a valid integer")


@pytest.mark.parametrize(
    "arguments",
    [
        ("once", "x" * 300, KERNEL),
        ("confirm", "x" * 300, KERNEL, "--incumbent", KERNEL),
        ("verify", "x" * 300),
        ("manufacture", "x" * 300, "--licence", "MIT"),
    ],
    ids=lambda arguments: str(arguments[0]),
)
def test_a_path_that_cannot_be_read_is_told(arguments: tuple[str, ...]) -> None:
    assert said(invoke(*arguments)).endswith("cannot be read: File name too long")


def test_a_link_to_itself_is_told(tmp_path: Path) -> None:
    link = tmp_path / "Model.py"
    link.symlink_to(link)
    assert "there is no file 'Model.py'" in said(invoke("once", str(link), KERNEL))


def test_no_folder_is_not_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNNER_STATE", "")
    assert said(invoke("bench")).startswith("RUNNER_STATE: '': Value error, expected a folder")


def test_nothing_in_a_file_steers_the_terminal_nor_fills_it(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.py"
    kernel.write_text("#!PHOTOFINISH gpus \x1b]0;owned\x07H200\nx = 1\n")
    assert "control character 0x1b in line 1; not Python source" in said(invoke("once", "vectoradd", str(kernel)))
    kernel.write_text("#!PHOTOFINISH gpus \x9b2J\u202eH200" + 9 * " H200" + "\nx = 1\n")
    told = said(invoke("once", "vectoradd", str(kernel)))
    assert "says that it is for \ufffd2J\ufffdH200, H200" in told
    assert len(told) < 1_000
    kernel.write_text("#!PHOTOFINISH gpus" + 9_999 * " H200" + "\nx = 1\n")
    assert "line 1: this directive has 9999 names and needs 1 to 16 names" in said(
        invoke("once", "vectoradd", str(kernel))
    )
