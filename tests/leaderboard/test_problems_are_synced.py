"""A set's folder becomes competition, boards and problem versions; running it again changes only what changed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from leaderboard.audit.models import Row
from leaderboard.competitions.models import Board, Competition, Problem, ProblemVersion
from leaderboard.competitions.sync import sync_set
from leaderboard.errors import UserError
from problems.formats.gpumode import ProblemSet, SetEntry
from tests.leaderboard.stage import NOON, Stage, current, make_problem

LIBRARY = Path(__file__).parents[2] / "problems" / "library"
DEADLINE = datetime(2027, 1, 1, tzinfo=UTC)


def make_set(*entries: SetEntry, name: str = "Kernels 101") -> ProblemSet:
    return ProblemSet(name=name, description="Two small kernels", deadline=None, entries=entries)


SOFTMAX = SetEntry(problem=make_problem(), slug="softmax", deadline=DEADLINE, gpus=("cpu", "H200"))


@pytest.mark.django_db
def test_a_set_becomes_boards() -> None:
    synced = sync_set(make_set(SOFTMAX), now=NOON)
    assert (synced.competition.slug, synced.new_versions) == ("kernels-101", 1)
    assert [(board.slug, board.hardware, board.deadline) for board in Board.objects.all()] == [
        ("softmax", "H200", DEADLINE),
        ("softmax", "cpu", DEADLINE),
    ]
    version = ProblemVersion.objects.get()
    assert version.digest == SOFTMAX.problem.digest
    assert version.bundle == SOFTMAX.problem.to_bundle()


@pytest.mark.django_db
def test_the_same_set_again_changes_nothing() -> None:
    sync_set(make_set(SOFTMAX), now=NOON)
    before = list(Board.objects.values())
    assert sync_set(make_set(SOFTMAX), now=NOON).new_versions == 0
    assert list(Board.objects.values()) == before
    assert not Row.objects.exists()


def test_a_changed_problem_is_a_new_version_and_old_attempts_keep_theirs(stage: Stage) -> None:
    submission = stage.submit()
    old = current(submission).version
    changed = replace(SOFTMAX, problem=make_problem(description="Clearer."), gpus=("cpu",))
    assert sync_set(make_set(changed), now=NOON).new_versions == 1
    stage.board.refresh_from_db()
    assert stage.board.version.digest == changed.problem.digest != old.digest
    assert current(submission).version == old
    row = Row.objects.get(act="sync_board")
    assert (row.before["version"], row.after["version"]) == (old.digest, changed.problem.digest)


@pytest.mark.django_db
def test_another_competition_does_not_take_a_board_over() -> None:
    sync_set(make_set(SOFTMAX), now=NOON)
    with pytest.raises(UserError, match="belongs to competition Kernels 101"):
        sync_set(make_set(SOFTMAX, name="Kernels 102"), now=NOON)
    assert Competition.objects.count() == 1


@pytest.mark.django_db
def test_a_problem_without_hardware_is_refused() -> None:
    bare = SetEntry(problem=make_problem(gpus=()), slug="softmax", deadline=None, gpus=())
    with pytest.raises(UserError, match="names no hardware"):
        sync_set(make_set(bare), now=NOON)
    assert not Problem.objects.exists()


@pytest.mark.django_db
def test_the_sample_set_is_synced_by_its_command(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("sync_problems", LIBRARY / "kernels101.yaml")
    told = capsys.readouterr().out
    assert "Kernels 101: vectoradd on cpu, softmax on cpu, layernorm on cpu, " in told
    assert "(6 new problem versions)" in told
    assert Competition.objects.get().slug == "kernels-101"


@pytest.mark.django_db
def test_a_broken_set_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text("name: 7\n")
    with pytest.raises(CommandError, match=r"set\.yaml"):
        call_command("sync_problems", tmp_path / "set.yaml")
    with pytest.raises(CommandError, match=r"none\.yaml"):
        call_command("sync_problems", tmp_path / "none.yaml")
