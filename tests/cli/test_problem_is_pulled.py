"""`photofinish problem pull` writes a folder that the judge at home reads as the site's problem."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from leaderboard.cli import problem
from problems.formats.gpumode import load_problem
from runner.commands import local
from tests.cli.conftest import Photofinish
from tests.cli.fake_site import FakeSite

pytestmark = pytest.mark.usefixtures("signed_in")

SOFTMAX = replace(load_problem(local.LIBRARY / "kernels101" / "softmax"), baseline=None)


@pytest.fixture(autouse=True)
def _softmax(site: FakeSite) -> None:
    site.problem = {"board": "softmax", "hardware": "cpu", "digest": SOFTMAX.digest, "problem": SOFTMAX.to_bundle()}


def test_pulled_folder_is_the_same_problem_at_home(
    photofinish: Photofinish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problem, "_runner", lambda: "/opt/bin/runner")
    ended = photofinish("problem", "pull", "softmax", "--into", str(tmp_path))
    assert ended.code == 0
    folder = tmp_path / "softmax"
    names = {path.name for path in folder.iterdir()}
    assert {"problem.json", "README.md", "cases.json", "reference.py", "starter_python.py", "starter_cpp.py"} <= names
    assert local.find_problem(str(folder)) == SOFTMAX
    assert f"photofinish run {folder}" in ended.err


def test_pull_without_the_judge_at_home_goes_on_at_the_site(
    photofinish: Photofinish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(problem, "_runner", lambda: None)
    ended = photofinish("problem", "pull", "softmax", "--into", str(tmp_path))
    starter = tmp_path / "softmax" / "starter_python.py"
    assert f"Next: photofinish submit {starter} --board softmax --mode test" in ended.err


def test_pulled_folder_is_not_written_over(photofinish: Photofinish, tmp_path: Path) -> None:
    (tmp_path / "softmax").mkdir()
    ended = photofinish("problem", "pull", "softmax", "--into", str(tmp_path))
    assert (ended.code, "is there already" in ended.err) == (2, True)


@pytest.mark.parametrize("name", ["../../up.py", "/etc/x.py", "a/b.py", ".hidden", ""])
def test_path_in_a_name_of_the_site_is_refused(
    site: FakeSite, photofinish: Photofinish, tmp_path: Path, name: str
) -> None:
    site.problem["problem"] = {**SOFTMAX.to_bundle(), "files": {name: "x = 1"}}
    ended = photofinish("problem", "pull", "softmax", "--into", str(tmp_path / "in"))
    assert (ended.code, "odd name" in ended.err) == (3, True)
    assert not (tmp_path / "in").exists()


def test_damaged_file_of_a_pulled_problem_is_named(tmp_path: Path) -> None:
    (tmp_path / "problem.json").write_text("{")
    with pytest.raises(local.UsageError, match=r"problem\.json cannot be read"):
        local.find_problem(str(tmp_path))
    (tmp_path / "problem.json").write_text(json.dumps({"bundle": 99}))
    with pytest.raises(local.UsageError, match="bundle"):
        local.find_problem(str(tmp_path))
