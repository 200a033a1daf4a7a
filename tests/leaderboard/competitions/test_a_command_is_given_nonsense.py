"""Import options from the command line obey the limits of a set; a bad value writes no rows and causes no crash."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from leaderboard.competitions.models import Board, Competition
from tests.leaderboard.competitions.test_kernelbench_is_imported import PLAIN

pytestmark = pytest.mark.django_db


@pytest.fixture
def level(tmp_path: Path) -> Path:
    path = tmp_path / "level1"
    path.mkdir()
    (path / "1_Double.py").write_text(PLAIN)
    return path


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--hardware", "a b/../..", r"hardware\[0\]: 'a b/\.\./\.\.' is not a single word"),
        ("--hardware", "cpu," + "x" * 300, r"hardware\[1\]: "),
        ("--hardware", "cpu\0", r"hardware\[0\]: "),
        ("--hardware", ",".join(f"g{n}" for n in range(33)), "hardware: 33 items, at most 32"),
        ("--hardware", " , ", "hardware: is empty"),
        ("--name", "x" * 300, "name: 300 characters, at most 128"),
        ("--name", "a\0b", "name: holds a NUL"),
        ("--name", "a\udcffb", "name: holds"),
        ("--name", " ", "name: is empty"),
    ],
)
def test_a_kernelbench_option_that_no_set_could_have_is_named(level: Path, option: str, value: str, says: str) -> None:
    hardware = () if option == "--hardware" else ("--hardware", "cpu")
    with pytest.raises(CommandError, match=says):
        call_command("import_kernelbench", str(level), "--levels", "1", *hardware, option, value, stdout=StringIO())
    assert not Board.objects.exists()
    assert not Competition.objects.exists()


@pytest.mark.parametrize("command", ["import_kernelbench", "import_problems"])
@pytest.mark.parametrize("path", ["", "  "])
def test_no_path_is_not_this_folder(command: str, path: str) -> None:
    with pytest.raises(CommandError, match="PATH is empty"):
        call_command(command, path)


def test_names_of_hardware_may_have_spaces_around(level: Path) -> None:
    call_command("import_kernelbench", str(level), "--levels", "1", "--hardware", "cpu, H200", stdout=StringIO())
    assert sorted(Board.objects.values_list("hardware", flat=True)) == ["H200", "cpu"]
