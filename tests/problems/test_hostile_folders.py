"""A hostile problem folder is refused with the field's name, in little time, without a leak."""

import contextlib
import json
import os
import tempfile
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from problems.fields import ProblemError, shown
from problems.formats.files import MAX_DEPTH, MAX_NODES, MAX_YAML_CHARS, parse_yaml
from problems.formats.folders import read_sets
from problems.formats.gpumode import load_problem, read_set
from problems.spec import Problem

FILES = 'files: [{name: submission.py, source: "@SUBMISSION@"}, {name: reference.py, source: %s}]\n'
REST = "benchmarks: [{size: 4}]\ngpus: [cpu]\n"
LIMIT_S = 30.0  # for one refusal on a busy machine; unbounded reading takes minutes or all memory


def refusal(text: str) -> str:
    began = time.monotonic()
    with pytest.raises(ProblemError) as refused:
        parse_yaml(text, "task.yml")
    assert time.monotonic() - began < LIMIT_S
    assert refused.value.field == "task.yml"
    return refused.value.message


def doubling(value: str, levels: int = 16) -> str:
    """Nested value whose levels each hold the previous level twice: 2 to the power of `levels` of `value`."""
    return f"a0: &a0 {value}\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, levels + 1))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (doubling("[x, x, x, x, x, x, x, x, x, x]"), "unfold to more than"),
        ("a: &a " + "x" * 200_000 + "\nb: [*a, *a, *a, *a, *a]\n", "unfold to more than"),
        (
            "a0: &a0 {k: "
            + "x" * 999
            + "}\n"
            + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 20)),
            "unfold to more than",
        ),
        ("a: &a [*a]\n", "a part of"),
        ("a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 500)), f"more than {MAX_DEPTH} deep"),
        ("[" * 100_000, f"more than {MAX_DEPTH} deep"),
        ("{a: " * 50_000, f"more than {MAX_DEPTH} deep"),
        ("- " * 50_000, f"more than {MAX_DEPTH} deep"),
        ("[" + "x," * 100_000 + "]", f"more than {MAX_NODES} values"),
        ("a: " + "x" * MAX_YAML_CHARS, "characters of YAML"),
        ("a: 1\nb: 1\na: 2\n", "'a' stands twice in one mapping (line 3)"),
        ("a: {b: 1, b: 2}\n", "stands twice"),
        ("? [a, b]\n: 1\n", "not valid YAML"),
        ("a: !!python/name:os.system x\n", "not valid YAML"),
        ("a: *nowhere\n", "not valid YAML"),
        ("a: \x07\n", "not valid YAML"),
        ("%YAML 9.9\n--- a\n--- b\n", "not valid YAML"),
        ("a: " + "9" * 5000 + "\n", "cannot be read as int; if it is text, put it in quotes (line 1)"),
        ("a:\nb: !!bool x\n", "'x' cannot be read as bool; if it is text, put it in quotes (line 2)"),
        ("a: !!timestamp x\n", "'x' cannot be read as timestamp"),
        ('a: !!int ""\n', "'' cannot be read as int"),
        ("a: !!bool {=: x}\n", "cannot be read as bool"),
        ("size: 1:30\n", "'1:30' as a number to base 60; write it out, or put it in quotes (line 1)"),
        ("a: 1" + ":1" * 300 + ":1.5\n", "to base 60"),
        ("a: 1" + ":59" * 80_000 + "\n", "to base 60"),
        ('a: !!float "1:30"\n', "to base 60"),
    ],
    ids=lambda value: value[:24] if isinstance(value, str) else None,
)
def test_yaml_that_means_harm_is_refused_in_little_time(text: str, says: str) -> None:
    assert says in refusal(text)


def test_a_mapping_that_was_merged_may_be_merged_again() -> None:
    text = "tests: [&a {size: 1}, &b {<<: *a, size: 2}]\nx: {<<: *b}\n"
    assert parse_yaml(text, "task.yml") == {"tests": [{"size": 1}, {"size": 2}], "x": {"size": 2}}


def test_a_few_aliases_are_welcome() -> None:
    text = "shape: &shape {size: 4, seed: 1}\ntests: [*shape]\nbenchmarks: [*shape, {<<: *shape, size: 8}]\n"
    assert parse_yaml(text, "task.yml") == {
        "shape": {"size": 4, "seed": 1},
        "tests": [{"size": 4, "seed": 1}],
        "benchmarks": [{"size": 4, "seed": 1}, {"size": 8, "seed": 1}],
    }


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_any_text_is_a_value_or_a_refusal(text: str) -> None:
    with contextlib.suppress(ProblemError):
        parse_yaml(text, "task.yml")


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["@SUBMISSION@", "reference.py", "../x", "/etc/hostname", ".", "2026-01-01", "cu", "seed", "cpu"]),
)
KEYS = """
    files lang description config templates tests benchmarks test_timeout ranking_by multi_gpu gpus validation fuzz
    tolerance precision baseline speed_of_light level tags title entry name source directory deadline problems size seed
    int odd log cases rtol atol legal reduction read_bytes flops main"""
NAMES = st.sampled_from(KEYS.split())
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
TASKS = st.dictionaries(NAMES, VALUES, max_size=10)


@settings(max_examples=120, deadline=None)
@given(task=TASKS, entry=st.dictionaries(st.sampled_from(["name", "gpus", "deadline", "extra"]), VALUES, max_size=4))
def test_any_task_and_any_entry_is_read_or_refused_by_a_field(task: dict, entry: dict) -> None:
    good = {
        "files": [
            {"name": "submission.py", "source": "@SUBMISSION@"},
            {"name": "reference.py", "source": "reference.py"},
        ],
        "benchmarks": [{"size": 4, "seed": 1}],
    }
    with tempfile.TemporaryDirectory() as place:
        top = Path(place)
        (top / "p").mkdir()
        (top / "p" / "reference.py").write_text("def generate_input(size, seed): ...\ndef ref_kernel(data): ...\n")
        (top / "p" / "task.yml").write_text(yaml.safe_dump(good | task))
        entries = [{"directory": "p", "name": "first"}, {"directory": "p", "name": "second"} | entry]
        (top / "set.yaml").write_text(yaml.safe_dump({"name": "C", "problems": entries}))
        found = read_set(top / "set.yaml")
    assert len(found.entries) + len(found.faults) == 2
    for kept in found.entries:
        assert Problem.from_bundle(json.loads(json.dumps(kept.problem.to_bundle()))) == kept.problem
    for fault in found.faults:
        assert fault.field
        assert fault.message.isprintable()


@pytest.mark.parametrize("value", [10**5000, [[10**5000]]], ids=["alone", "in lists"])
def test_a_value_that_cannot_be_shown_is_still_named(value: object) -> None:
    assert "too large to show" in shown(value)


@pytest.mark.parametrize("size", ["0x" + "f" * 9000, "1e400", ".nan", "{a: 1}", "[[1]]", "!!binary aGVsbG8="])
def test_a_case_of_a_strange_value_is_refused_by_its_field(write_problem, size: str) -> None:
    task = FILES % "reference.py" + f"benchmarks: [{{size: {size}}}]\n"
    with pytest.raises(ProblemError) as refused:
        load_problem(write_problem(task))
    assert refused.value.field.startswith(("benchmarks[0].size", "bundle"))


@pytest.mark.parametrize("listed", ["5", "true", "x", "{a: 1}", "[1]", "!!bool x"])
def test_a_strange_file_beside_a_problem_is_somebody_elses(write_problem, tmp_path: Path, listed: str) -> None:
    (tmp_path / "other.yaml").write_text(f"problems: {listed}\n")
    assert load_problem(write_problem()).slug == "scale"


def test_what_is_no_path_is_refused() -> None:
    with pytest.raises(ProblemError, match="no file or folder"):
        read_sets(Path("a" * 300))
    with pytest.raises(ProblemError, match="is no folder"):
        load_problem(Path("a\0b"))


@pytest.mark.parametrize("source", ["../../../secret.py", "/etc/passwd", "a/../../../../secret.py"])
def test_a_path_that_climbs_out_is_refused_whether_there_is_a_file_or_not(write_problem, source: str) -> None:
    for extra in ("", f"templates: {{Python: {source}}}\n", f"baseline: {source}\n"):
        task = FILES % ("reference.py" if extra else source) + REST + extra
        with pytest.raises(ProblemError, match="lies outside the problem set"):
            load_problem(write_problem(task))


@pytest.mark.parametrize("source", ["x" * 290, "reference.py/x", "loop.py", "a/" * 120 + "x"])
def test_a_path_that_leads_nowhere_is_refused_by_name(write_problem, source: str) -> None:
    folder = write_problem(FILES % source + REST)
    (folder / "loop.py").symlink_to(folder / "loop.py")
    with pytest.raises(ProblemError, match=r"files\[1\]\.source: there is no file"):
        load_problem(folder)


def test_a_pipe_in_the_place_of_a_file_does_not_wait(write_problem) -> None:
    folder = write_problem()
    (folder / "reference.py").unlink()
    os.mkfifo(folder / "reference.py")
    with pytest.raises(ProblemError, match="not a plain file"):
        load_problem(folder)


def test_links_to_folders_outside_or_in_a_circle_are_refused(write_problem, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    write_problem(REST)  # a problem outside the set's folder
    (inner / "out").symlink_to(tmp_path / "course" / "scale")
    (inner / "round").symlink_to(inner / "round")
    (inner / "set.yaml").write_text("name: C\nproblems: [{directory: out, name: a}, {directory: round, name: b}]\n")
    found = read_set(inner / "set.yaml")
    assert not found.entries
    assert [fault.name for fault in found.faults] == ["a", "b"]
    assert "outside the problem set" in found.faults[0].message


def test_a_binary_file_in_the_place_of_text_is_refused(write_problem) -> None:
    folder = write_problem()
    (folder / "reference.py").write_bytes(bytes(range(256)))
    with pytest.raises(ProblemError, match="not UTF-8 text"):
        load_problem(folder)
    (folder / "reference.py").write_bytes(b"x = 1\0")
    with pytest.raises(ProblemError, match="NUL"):
        load_problem(folder)


def test_what_a_report_says_is_printable_and_short(write_problem, tmp_path: Path) -> None:
    write_problem(extra='"a\\0b": 1\n"' + "k" * 900 + '": 1\n')
    text = 'name: "C\\e[31m"\n"\\0": 1\nproblems: [{directory: course/scale, name: scale}, {name: "x\\0", "\\a": 1}]\n'
    (tmp_path / "set.yaml").write_text(text)
    found = read_set(tmp_path / "set.yaml")
    told = [found.name, *found.warnings, *found.entries[0].problem.warnings, *vars(found.faults[0]).values()]
    assert len(found.entries[0].problem.warnings) == 2
    assert all(words.isprintable() and len(words) <= 510 for words in told)


def test_a_folder_of_very_many_problems_is_refused(write_problem, tmp_path: Path) -> None:
    for n in range(3):
        entries = ", ".join(f"{{name: p{m}}}" for m in range(200))
        (tmp_path / f"s{n}.yaml").write_text(f"name: S{n}\nproblems: [{entries}]\n")
    with pytest.raises(ProblemError, match="more than 512 problems"):
        read_sets(tmp_path)
