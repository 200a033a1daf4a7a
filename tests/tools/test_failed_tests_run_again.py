"""A second run of failed tests in CI."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.tools.test_run import MOST_AGAIN, TESTS_FAILED, run_failed_again

UNSTEADY = """
from pathlib import Path

def test_unsteady():
    mark = Path(__file__).with_name("mark")
    was_there = mark.exists()
    mark.touch()
    assert was_there

def test_steady():
    Path(__file__).with_name("runs").open("a").write("one ")
"""
BROKEN = "import pytest\n\n@pytest.mark.parametrize('n', range({}))\ndef test_broken(n):\n    assert n < 0\n"


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "pytest.ini").touch()
    options = ["-q", "-n", "0", "-p", "no:django", "--rootdir", str(tmp_path)]
    return [sys.executable, "-m", "pytest", *options, str(tmp_path)]


def run(tmp_path: Path, command: list[str], tests: str) -> int:
    """Return the exit code after the second run."""
    (tmp_path / "test_them.py").write_text(tests)
    assert subprocess.run(command, cwd=tmp_path).returncode == TESTS_FAILED
    noted = tmp_path / ".pytest_cache" / "v" / "cache" / "lastfailed"
    return run_failed_again([*command, "--last-failed", "--last-failed-no-failures", "none"], noted)


def test_unsteady_test_that_passes_alone_is_named_and_forgiven(
    tmp_path: Path, command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, command, UNSTEADY) == 0
    assert "unsteady" in capfd.readouterr().out
    assert (tmp_path / "runs").read_text() == "one ", "a passed test does not run again"


def test_test_that_fails_twice_fails_the_run(tmp_path: Path, command: list[str]) -> None:
    assert run(tmp_path, command, BROKEN.format(1)) == TESTS_FAILED


def test_many_failed_tests_do_not_run_again(
    tmp_path: Path, command: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, command, BROKEN.format(MOST_AGAIN + 1)) == TESTS_FAILED
    assert "again, alone" not in capfd.readouterr().out
