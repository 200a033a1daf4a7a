"""A set is read from its YAML file; its problems may share files inside the set and read no file outside it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from problems.fields import ProblemError
from problems.formats.gpumode import load_problem
from tests.problems.conftest import load_set

SET = """
name: Course
description: Two lessons
deadline: ""
problems:
  - {directory: course/scale, name: scale, deadline: "2026-03-01 9:30", gpus: [T4]}
  - {directory: course/shift, name: shift}
"""
SHARING = """
files:
  - {name: reference.py, source: reference.py}
  - {name: utils.py, source: %s}
benchmarks: [{size: 4}]
gpus: [cpu]
"""


def write_set(tmp_path: Path, text: str = SET) -> Path:
    path = tmp_path / "course.yaml"
    path.write_text(text)
    return path


def test_a_set_lists_its_problems_with_deadline_and_hardware(write_problem, tmp_path: Path) -> None:
    write_problem(extra="gpus: [cpu]\n")
    write_problem(directory="course/shift", extra="gpus: [cpu]\n")
    problems = load_set(write_set(tmp_path))
    scale, shift = problems.entries
    assert (problems.name, problems.deadline) == ("Course", None)
    assert (scale.slug, scale.gpus, scale.deadline) == ("scale", ("T4",), datetime(2026, 3, 1, 9, 30, tzinfo=UTC))
    assert (shift.slug, shift.gpus, shift.deadline) == ("shift", ("cpu",), None)
    assert shift.problem.slug == "shift"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ('"2026-03-01 23:59"', datetime(2026, 3, 1, 23, 59, tzinfo=UTC)),
        ('"2026-03-01 7:05"', datetime(2026, 3, 1, 7, 5, tzinfo=UTC)),
        ('""', None),
    ],
)
def test_a_deadline_is_read_as_utc(write_problem, tmp_path: Path, written: str, read: datetime | None) -> None:
    write_problem()
    text = f"name: C\nproblems: [{{directory: course/scale, name: scale, deadline: {written}}}]\n"
    assert load_set(write_set(tmp_path, text)).entries[0].deadline == read


@pytest.mark.parametrize("written", ["soon", '"2026-13-01"', '"2026-03-01 25:00"', "17"])
def test_a_deadline_that_is_no_time_is_refused(write_problem, tmp_path: Path, written: str) -> None:
    write_problem()
    text = f"name: C\nproblems: [{{directory: course/scale, name: scale, deadline: {written}}}]\n"
    with pytest.raises(ProblemError) as refused:
        load_set(write_set(tmp_path, text))
    assert refused.value.field == "problems[0].deadline"


def test_a_source_may_climb_inside_the_set(write_problem, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "utils.py").write_text("SHARED")
    folder = write_problem(SHARING % "../../shared/utils.py")
    entries = load_set(write_set(tmp_path, "name: C\nproblems: [{directory: course/scale, name: scale}]\n")).entries
    assert entries[0].problem.files["utils.py"] == "SHARED"
    assert load_problem(folder).files["utils.py"] == "SHARED"  # alone, too: its set lies above it


def test_a_source_may_not_climb_out_of_the_set(write_problem, tmp_path: Path) -> None:
    (tmp_path.parent / "secret.py").write_text("SECRET")
    write_problem(SHARING % "../../../secret.py")
    with pytest.raises(ProblemError, match="outside the problem set"):
        load_set(write_set(tmp_path, "name: C\nproblems: [{directory: course/scale, name: scale}]\n"))


def test_a_problem_without_a_set_may_not_climb_at_all(write_problem, tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text("NEAR")
    with pytest.raises(ProblemError, match="outside the problem set"):
        load_problem(write_problem(SHARING % "../../utils.py"))


def test_a_symbolic_link_out_of_the_set_is_refused(write_problem, tmp_path: Path) -> None:
    (tmp_path.parent / "secret.py").write_text("SECRET")
    folder = write_problem(SHARING % "link.py")
    (folder / "link.py").symlink_to(tmp_path.parent / "secret.py")
    with pytest.raises(ProblemError, match="outside the problem set"):
        load_problem(folder)


def test_an_absolute_path_out_of_the_set_is_refused(write_problem) -> None:
    with pytest.raises(ProblemError, match="outside the problem set"):
        load_problem(write_problem(SHARING % "/etc/hostname"))


def test_a_directory_may_not_leave_the_set(write_problem, tmp_path: Path) -> None:
    write_problem()
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises(ProblemError, match="outside the problem set"):
        load_set(write_set(inner, "name: C\nproblems: [{directory: ../course/scale, name: scale}]\n"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("problems: []\n", "name: missing"),
        ("name: C\n", "problems: missing"),
        ("name: C\nproblems: [{directory: course/scale}]\n", "problems[0].name: missing"),
        (
            "name: C\nproblems: [{directory: course/gone, name: gone}]\n",
            "problems[0].directory: there is no folder 'course/gone'",
        ),
        (
            "name: C\nproblems: [{directory: course/scale, name: a}, {directory: course/scale, name: a}]\n",
            "stands twice",
        ),
    ],
)
def test_a_bad_set_names_the_field(write_problem, tmp_path: Path, text: str, says: str) -> None:
    write_problem()
    with pytest.raises(ProblemError) as refused:
        load_set(write_set(tmp_path, text))
    assert says in str(refused.value)


def test_warnings_of_problems_come_with_their_names(write_problem, tmp_path: Path) -> None:
    write_problem(extra="milestones: []\n")
    text = "name: C\nhost: olga\nproblems: [{directory: course/scale, name: scale}]\n"
    assert load_set(write_set(tmp_path, text)).warnings == (
        "course.yaml: unknown key host",
        "scale: unknown key milestones",
    )
