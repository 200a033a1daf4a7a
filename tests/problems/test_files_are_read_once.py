"""One load reads and parses each file once, however many problems name it, and all files together have a limit."""

from collections import Counter
from pathlib import Path

import pytest

from problems.fields import ProblemError
from problems.formats import files as reader
from problems.formats import inspect
from problems.formats.files import Files
from problems.formats.folders import read_sets
from problems.formats.gpumode import read_set


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count repeated calls of each of our readers."""
    counted: Counter[str] = Counter()
    read_text, parse_yaml, code = reader.read_text, reader.parse_yaml, inspect.code

    def counting_text(path: Path, root: Path, where: str) -> str:
        counted[f"read {path.name}"] += 1
        return read_text(path, root, where)

    def counting_yaml(text: str, where: str) -> object:
        counted[f"parsed {where}"] += 1
        return parse_yaml(text, where)

    def counting_code(source: str) -> inspect.Code:
        counted["parsed Python"] += bool(source)
        return code(source)

    monkeypatch.setattr(reader, "read_text", counting_text)
    monkeypatch.setattr(reader, "parse_yaml", counting_yaml)
    monkeypatch.setattr(inspect, "code", counting_code)
    return counted


def of_twenty(folder: Path, directory: str = "course/scale") -> Path:
    entries = "".join(f"  - {{directory: {directory}, name: p{n}}}\n" for n in range(20))
    path = folder / "course.yaml"
    path.write_text(f"name: Course\nproblems:\n{entries}")
    return path


def test_a_folder_that_stands_twenty_times_is_read_once(write_problem, tmp_path: Path, reads: Counter[str]) -> None:
    write_problem(extra='tests: [{size: 4, "seed":}]\n')
    (tmp_path / "same").symlink_to(tmp_path / "course")
    of_twenty(tmp_path, "same/scale")
    (found,) = read_sets(tmp_path)
    assert found.found is not None
    assert set(reads.values()) == {1}
    assert len(reads) == 6  # the set, task.yml, reference.py
    assert [entry.slug for entry in found.found.entries] == [f"p{n}" for n in range(20)]
    for entry in found.found.entries:
        assert entry.problem.tests == ({"size": 4},)
        assert entry.problem.warnings == ("tests[0].seed: is empty and left out",)
        assert entry.problem.files == found.found.entries[0].problem.files


@pytest.mark.parametrize(
    ("name", "text", "field", "says"),
    [
        ("task.yml", "a: [", "task.yml", "not valid YAML"),
        ("reference.py", "#" * 1_000_001, "files[1].source", "more than 1000000 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_tried_once(
    write_problem, tmp_path: Path, reads: Counter[str], name: str, text: str, field: str, says: str
) -> None:
    (write_problem() / name).write_text(text)
    faults = read_set(of_twenty(tmp_path)).faults
    assert [fault.field for fault in faults] == [f"p{n}.{field}" for n in range(20)]
    assert {says in fault.message for fault in faults} == {True}
    assert set(reads.values()) == {1}


def test_a_file_is_named_by_whoever_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff")
    load = Files()
    for where in ("files.x.py", "baseline"):
        with pytest.raises(ProblemError, match=f"{where}: 'a' is not UTF-8"):
            load.text(tmp_path / "a", tmp_path, where)


@pytest.mark.parametrize(
    ("kind", "chars", "says"),
    [
        ("text", 999_000, "8000000 characters in all; split the set"),
        ("yaml", 250_000, "2000000 characters of YAML in all"),
    ],
)
def test_the_files_of_a_load_have_a_limit_together(tmp_path: Path, kind: str, chars: int, says: str) -> None:
    """Eight files of the largest size fit."""
    load = Files()
    for n in range(9):
        (tmp_path / str(n)).write_text("#" * chars)
    for n in range(8):
        getattr(load, kind)(tmp_path / str(n), tmp_path, f"files.{n}")
    with pytest.raises(ProblemError, match=rf"files\.8: .* {says}"):
        getattr(load, kind)(tmp_path / "8", tmp_path, "files.8")
