"""A set with faulty problems: each error names the problem, its field and the reason, and the rest are read."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from problems.fields import ProblemError
from problems.formats.folders import read_sets
from problems.formats.gpumode import read_set
from tests.problems.conftest import load_set

GOOD = "{directory: course/scale, name: scale, gpus: [cpu]}"


def write_set(folder: Path, *entries: str, name: str = "Course", file: str = "course.yaml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file
    path.write_text(f"name: {name}\nproblems:\n" + "".join(f"  - {entry}\n" for entry in entries))
    return path


@pytest.mark.parametrize(
    ("entry", "name", "field", "says"),
    [
        ("{directory: course/gone, name: gone}", "gone", "problems[1].directory", "no folder 'course/gone'"),
        ("{directory: course/scale}", "problems[1]", "problems[1].name", "missing"),
        ("{name: lost}", "lost", "problems[1].directory", "missing"),
        ("just text", "problems[1]", "problems[1]", "expected a mapping"),
        ("{directory: course/scale, name: scale}", "scale", "problems[1].name", "stands twice"),
        ("{directory: course/scale, name: a b}", "a b", "problems[1].name", "short name"),
        ("{directory: course/scale, name: s2, deadline: soon}", "s2", "problems[1].deadline", "not a time"),
        ("{directory: course/scale, name: s2, gpus: [NVIDIA/name: ]}", "s2", "problems[1].gpus[0]", "NVIDIA/name"),
        ("{directory: course/scale, name: s2, gpus: [a/b]}", "s2", "problems[1].gpus[0]", "single word"),
        ("{directory: ../../etc, name: s2}", "s2", "problems[1].directory", "'../../etc' lies outside"),
    ],
)
def test_a_faulty_problem_is_told_and_the_others_are_read(
    write_problem, tmp_path: Path, entry: str, name: str, field: str, says: str
) -> None:
    write_problem()
    path = write_set(tmp_path, GOOD, entry)
    found = read_set(path)
    assert [kept.slug for kept in found.entries] == ["scale"]
    (fault,) = found.faults
    assert (fault.name, fault.field) == (name, field)
    assert says in fault.message
    with pytest.raises(ProblemError, match=r".") as refused:
        load_set(path)
    assert refused.value.field == field


def test_an_unknown_key_of_an_entry_warns(write_problem, tmp_path: Path) -> None:
    write_problem()
    (entry,) = read_set(write_set(tmp_path, "{directory: course/scale, name: scale, points: 3}")).entries
    assert entry.problem.warnings == ("unknown key problems[0].points",)


def test_one_bad_name_of_hardware_leaves_the_others(write_problem, tmp_path: Path) -> None:
    write_problem()
    (entry,) = read_set(write_set(tmp_path, "{directory: course/scale, name: scale, gpus: [T4, a/b, T4, cpu]}")).entries
    assert entry.gpus == ("T4", "cpu")
    assert entry.problem.warnings == (
        "problems[0].gpus[1]: 'a/b' is not a single word of letters, digits and _ . + -; left out",
    )


def test_a_deadline_may_have_seconds(write_problem, tmp_path: Path) -> None:
    write_problem()
    entry = '{directory: course/scale, name: scale, deadline: "2025-10-15 00:00:30"}'
    assert read_set(write_set(tmp_path, entry)).entries[0].deadline == datetime(2025, 10, 15, 0, 0, 30, tzinfo=UTC)


def test_every_set_of_a_folder_is_read_and_a_broken_one_is_told(write_problem, tmp_path: Path) -> None:
    write_problem()
    write_set(tmp_path, GOOD)
    (tmp_path / "broken.yaml").write_text("name: B\nproblems: {")
    (tmp_path / "other.yaml").write_text("on: push\n")
    (tmp_path / ".hidden.yaml").write_text("name: H\nproblems: []\n")
    broken, course, other = read_sets(tmp_path)
    assert (course.label, course.name, course.is_foreign) == ("course.yaml", "Course", False)
    assert broken.fault is not None
    assert (broken.fault.field, broken.is_foreign) == ("broken.yaml", False)
    assert other.is_foreign


def test_sets_further_down_are_found(write_problem, tmp_path: Path) -> None:
    write_problem(directory="repo-main/problems/course/scale")
    write_set(tmp_path / "repo-main" / "problems", GOOD)
    (found,) = read_sets(tmp_path)
    assert found.label == "repo-main/problems/course.yaml"
    assert found.found is not None
    assert not found.found.faults


@pytest.mark.parametrize("only", ["Course", "course", "course.yaml", " COURSE "])
def test_one_set_is_chosen_by_name_or_file(write_problem, tmp_path: Path, only: str) -> None:
    write_problem()
    write_set(tmp_path, GOOD)
    write_set(tmp_path, GOOD, name="Other", file="other.yaml")
    assert [file.name for file in read_sets(tmp_path, only)] == ["Course"]


@pytest.mark.parametrize(
    ("path", "only", "says"),
    [(".", "Nope", "there are Course"), ("gone", "", "no file or folder"), ("course", "", "no problem set")],
)
def test_nothing_to_read_is_one_sentence(write_problem, tmp_path: Path, path: str, only: str, says: str) -> None:
    write_problem()
    write_set(tmp_path, GOOD)
    with pytest.raises(ProblemError, match=says):
        read_sets(tmp_path / path, only)
