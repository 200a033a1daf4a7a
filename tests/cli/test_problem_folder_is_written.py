"""`photofinish problem new` writes a folder that the judge can read; `check` hands it to the judge, or explains how."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from leaderboard.cli import problem
from leaderboard.cli.errors import Misuse
from leaderboard.cli.main import app
from problems.formats.gpumode import load_set
from runner.admission import examine
from runner.commands import verify


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


def test_check_starts_the_judge_and_ends_as_it_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, told = made(tmp_path), tmp_path / "told"
    judge = tmp_path / "bin" / "runner"
    judge.parent.mkdir()
    judge.write_text(f'#!/bin/sh\necho "$@" > {told}\nexit 1\n')
    judge.chmod(0o755)
    monkeypatch.setenv("PATH", str(judge.parent))
    result = CliRunner().invoke(app, ["problem", "check", str(folder), "--only", "admission/"])
    assert result.exit_code == 1
    assert told.read_text().split() == ["verify", str(folder), "--only", "admission/"]


def test_without_a_judge_it_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Misuse, match="runner verify"):
        problem.check(made(tmp_path))
    with pytest.raises(Misuse, match=r"no task\.yml"):
        problem.check(tmp_path)
