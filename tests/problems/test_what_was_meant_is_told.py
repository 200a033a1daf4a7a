"""An error about a wrong path names its key and the path as written; an error about a path without a set lists its
contents."""

from pathlib import Path

import pytest

from problems.fields import ProblemError
from problems.formats.folders import read_sets
from problems.formats.gpumode import load_problem, read_set
from tests.problems.test_faulty_problem_of_a_set import GOOD, write_set

FILES = 'files: [{name: submission.py, source: "@SUBMISSION@"}, {name: reference.py, source: %s}]\n'
CASES = "benchmarks: [{size: 4, seed: 1}]\n"
REFERENCE = "{name: reference.py, source: reference.py}"


def refused(call: object, *given: object) -> tuple[str, str]:
    with pytest.raises(ProblemError) as error:
        call(*given)  # type: ignore[operator]
    return error.value.field, error.value.message


@pytest.mark.parametrize(
    ("directory", "says"),
    [
        ("../../etc", "'../../etc' lies outside the problem set; copy it inside"),
        ("/etc", "'/etc' lies outside the problem set; copy it inside"),
        ("course/gone", "there is no folder 'course/gone'"),
        ("course/scale/task.yml", "'course/scale/task.yml' is a file; name the folder that its task.yml is in"),
    ],
)
def test_a_directory_is_named_as_the_set_has_it(write_problem, tmp_path: Path, directory: str, says: str) -> None:
    write_problem()
    (fault,) = read_set(write_set(tmp_path, GOOD, f"{{directory: {directory}, name: e}}")).faults
    assert (fault.name, fault.field, fault.message) == ("e", "problems[1].directory", says)


def test_a_directory_that_holds_a_nul_is_refused(write_problem, tmp_path: Path) -> None:
    write_problem()
    (fault,) = read_set(write_set(tmp_path, '{directory: "a\\0b", name: e}')).faults
    assert fault.field == "problems[0].directory"


def test_a_bad_name_of_a_board_is_the_sets_name(write_problem, tmp_path: Path) -> None:
    write_problem()
    (fault,) = read_set(write_set(tmp_path, "{directory: course/scale, name: a b}")).faults
    assert fault.field == "problems[0].name"
    assert fault.message.startswith("'a b' is not a short name")


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("../../../../etc/passwd", "'../../../../etc/passwd' lies outside the problem set; copy it inside"),
        ("lib/gone.py", "there is no file 'lib/gone.py'"),
    ],
)
def test_a_source_is_named_as_the_task_has_it(write_problem, source: str, says: str) -> None:
    folder = write_problem(FILES % source + CASES)
    assert refused(load_problem, folder) == ("files[1].source", says)
    baseline = write_problem(FILES % "reference.py" + CASES + f"baseline: {source}\n")
    assert refused(load_problem, baseline) == ("baseline", says)


def test_a_file_that_no_bundle_holds_is_named_by_its_source(write_problem) -> None:
    folder = write_problem()
    (folder / "reference.py").write_bytes(b"x = 1\0")
    assert refused(load_problem, folder)[0] == "files[1].source"


@pytest.mark.parametrize(
    ("files", "field", "says"),
    [
        (f'[{{name: submission.py, source: "@SUBMISSION@"}}, {REFERENCE}]', "files[0].name", "name it submission.cu"),
        (f'[{REFERENCE}, {{name: a/b.cu, source: "@SUBMISSION@"}}]', "files[1].name", "'a/b.cu' is not a plain file"),
        (f"[{REFERENCE}]", "files", "name it submission.cu, with the source @SUBMISSION@, which no file has"),
    ],
)
def test_a_submission_of_the_wrong_language_is_named_where_it_stands(
    write_problem, files: str, field: str, says: str
) -> None:
    where, message = refused(load_problem, write_problem(f"lang: cu\nfiles: {files}\n{CASES}"))
    assert where == field
    assert says in message


@pytest.mark.parametrize("is_folder", [True, False])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"name: C\nproblem: [{GOOD}]\n", "s.yaml has no `problems`: `problem` stands there; write `problems`"),
        ("name: C\n", "s.yaml has no `problems`: a set lists its problems there"),
        ("- a\n", "s.yaml has no `problems`: it is no mapping"),
    ],
)
def test_a_file_that_lists_no_problems_is_told(tmp_path: Path, text: str, says: str, is_folder: bool) -> None:
    (tmp_path / "s.yaml").write_text(text)
    field, message = refused(read_sets, tmp_path if is_folder else tmp_path / "s.yaml")
    assert field == "path"
    assert message.endswith(says)


def test_a_set_that_ends_in_yml_is_told_and_may_be_given_itself(write_problem, tmp_path: Path) -> None:
    write_problem()
    path = write_set(tmp_path, GOOD, file="s.yml")
    message = refused(read_sets, tmp_path)[1]
    assert "s.yml ends in .yml; rename it to 's.yaml', or give the file itself" in message
    assert [file.name for file in read_sets(path)] == ["Course"]


def test_a_problems_own_folder_is_told(write_problem, tmp_path: Path) -> None:
    folder = write_problem()
    write_set(tmp_path, GOOD)
    assert refused(read_sets, folder)[1] == (
        "there is no problem set (<set>.yaml) in 'scale': it is a problem's own folder, with a task.yml; give the "
        "folder above, or the set's own file"
    )
    assert "task.yml is one problem, and no set" in refused(read_sets, folder / "task.yml")[1]


def test_problems_without_a_set_are_told_and_few_of_many(write_problem, tmp_path: Path) -> None:
    for n in range(5):
        write_problem(directory=f"course/p{n}")
    message = refused(read_sets, tmp_path)[1]
    assert message.count("is one problem; write a <set>.yaml that lists it under `problems`") == 3
    assert "course/p0/task.yml" in message
