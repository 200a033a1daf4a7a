"""Import of a KernelBench checkout as a competition with a board per problem; a dry run writes no rows."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from leaderboard.accounts.models import User
from leaderboard.competitions.edit import edit_competition
from leaderboard.competitions.models import Board, Competition, ProblemVersion

pytestmark = pytest.mark.django_db

PLAIN = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.rand(8)]

def get_init_inputs():
    return []
"""
RANDOM = PLAIN.replace("x * 2", "x * torch.rand(8)")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in (("level1/1_Double.py", PLAIN), ("level1/2_Dice.py", RANDOM), ("level2/1_Other.py", PLAIN)):
        path = tmp_path / "KernelBench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def imported(checkout: Path, *options: str) -> dict[str, Any]:
    said = StringIO()
    hardware = () if "--hardware" in options else ("--hardware", "cpu")
    call_command("import_kernelbench", str(checkout), "--json", *hardware, *options, stdout=said)
    found: dict[str, Any] = json.loads(said.getvalue())
    return found


def test_every_problem_has_a_board_and_a_line(checkout: Path) -> None:
    report = imported(checkout, "--hardware", "cpu,H200")
    assert report["counts"] == {"created": 2, "unsupported": 1}
    assert Competition.objects.get().slug == "kernelbench"
    boards = Board.objects.order_by("slug", "hardware")
    assert {(board.slug, board.hardware) for board in boards} == {
        (slug, hardware) for slug in ("kb1-001-double", "kb1-002-dice", "kb2-001-other") for hardware in ("cpu", "H200")
    }
    dice = next(line for line in report["sets"][0]["problems"] if line["problem"] == "kb1-002-dice")
    assert "random numbers" in dice["reason"]


def test_an_imported_kernelbench_competition_is_scored_by_fast_p(checkout: Path) -> None:
    imported(checkout)
    competition = Competition.objects.get()
    assert competition.scoring == "fast_p"
    edit_competition(
        competition=competition,
        actor=User.objects.create_user("olga", is_staff=True),
        settings={"scoring": "points"},
        now=timezone.now(),
        reason="The course counts points.",
    )
    report = imported(checkout)
    assert "the scoring of the competition was edited here; it stays" in report["sets"][0]["warnings"]
    competition.refresh_from_db()
    assert competition.scoring == "points"


def test_again_changes_nothing_and_a_changed_file_is_a_new_version(checkout: Path) -> None:
    imported(checkout)
    assert imported(checkout)["counts"] == {"unchanged": 2, "unsupported": 1}
    (checkout / "KernelBench/level2/1_Other.py").write_text(PLAIN.replace("* 2", "* 3"))
    assert imported(checkout, "--levels", "2")["counts"] == {"updated": 1}
    assert ProblemVersion.objects.filter(problem__slug="kb2-001-other").count() == 2


def test_import_kernelbench_names_hardware_and_warns_of_sizes_before_it_imports(checkout: Path) -> None:
    with pytest.raises(CommandError, match="--hardware"):
        call_command("import_kernelbench", str(checkout), stdout=StringIO())
    large = PLAIN.replace("torch.rand(8)", "torch.rand(1024, 1024, 512)")
    (checkout / "KernelBench/level2/1_Other.py").write_text(large)
    report = imported(checkout, "--dry-run", "--hardware", "cpu,H200")
    warned = {line["problem"]: line["warnings"] for line in report["sets"][0]["problems"] if line["warnings"]}
    assert list(warned) == ["kb2-001-other"]
    assert "cpu: its inputs take about 2,048 MiB, and a judge there has room for 256 MiB" in warned["kb2-001-other"][0]


def test_a_dry_run_says_the_same_and_keeps_nothing(checkout: Path) -> None:
    assert imported(checkout, "--dry-run")["counts"] == {"created": 2, "unsupported": 1}
    assert not Board.objects.exists()
    assert not Competition.objects.exists()


def test_a_file_that_cannot_be_read_leaves_the_others(checkout: Path) -> None:
    (checkout / "KernelBench/level1/3_Bytes.py").write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match="1 refused"):
        call_command("import_kernelbench", str(checkout), "--hardware", "cpu", stdout=StringIO())
    assert Board.objects.count() == 3


@pytest.mark.parametrize(("options", "said"), [(["--levels", "7"], "level7"), (["--levels", "one"], "list of levels")])
def test_a_wrong_option_is_named(checkout: Path, options: list[str], said: str) -> None:
    with pytest.raises(CommandError, match=said):
        call_command("import_kernelbench", str(checkout), "--hardware", "cpu", *options)


def test_a_variant_in_half_precision_lies_beside_the_files_as_they_are(checkout: Path) -> None:
    imported(checkout)
    report = imported(checkout, "--precision", "fp16")
    assert report["counts"] == {"created": 2, "unsupported": 1}
    assert set(Competition.objects.values_list("slug", "name")) == {
        ("kernelbench", "KernelBench"),
        ("kernelbench-fp16", "KernelBench fp16"),
    }
    plain, half = (
        set(Board.objects.filter(competition__slug=slug).values_list("slug", flat=True))
        for slug in ("kernelbench", "kernelbench-fp16")
    )
    assert half == {f"{slug}-fp16" for slug in plain}
