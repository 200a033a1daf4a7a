"""`lang: cu`: build settings of a task.yml, and the options that each compiler receives."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.fields import ProblemError
from problems.formats.gpumode import load_problem
from problems.spec import Build, Problem, in_python

FOLDER = Path(__file__).parent / "scale_cu"


def test_a_folder_is_read_and_its_bundle_comes_back() -> None:
    problem = load_problem(FOLDER)
    assert (problem.lang, problem.submission_name, problem.unsupported) == ("cu", "submission.cu", "")
    assert problem.build is not None
    assert problem.build.flags("g++") == ["-O3", "-std=c++17", "-funroll-loops", "-DUNROLL=4"]
    assert problem.build.flags("nvcc") == ["-O3", "-std=c++17", "--use_fast_math", "-DUNROLL=4"]
    assert Problem.from_bundle(problem.to_bundle()) == problem


def test_a_python_answer_to_it_is_another_problem() -> None:
    problem = load_problem(FOLDER)
    asked = in_python(problem)
    assert (asked.lang, asked.build, asked.submission_name) == ("py", None, "submission.py")
    assert Problem.from_bundle(asked.to_bundle()) == asked
    assert in_python(asked) is asked


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"compile_flags": ["-I/etc"]}, "config.compile_flags"),
        ({"compile_flags": ["-o", "x"]}, "config.compile_flags"),
        ({"compile_flags": ["-O3 -I/etc"]}, "config.compile_flags"),
        ({"compile_flags": ["-Xcompiler=-fplugin=x.so"]}, "config.compile_flags"),
        ({"compile_flags": ["@flags.txt"]}, "config.compile_flags"),
        ({"compile_flags": "-O3"}, "config.compile_flags"),
        ({"compile_flags": ["-O3"] * 100}, "config.compile_flags"),
        ({"compile_flags": ["-Wl,-rpath,/x"]}, "config.compile_flags"),
        ({"defines": {"A B": 1}}, "config.defines.A B"),
        ({"defines": {"A": "1 -I/etc"}}, "config.defines.A"),
        ({"defines": ["A"]}, "config.defines"),
        ({"sources": ["../x.cu"]}, "config.sources"),
        ({"sources": ["-I.cu"]}, "config.sources"),
        ({"sources": ["x.py"]}, "config.sources"),
        ({"include_dirs": ["/usr/include"]}, "config.include_dirs"),
    ],
)
def test_what_is_not_allowed_is_refused_by_name(config: dict[str, Any], field: str) -> None:
    with pytest.raises(ProblemError) as refused:
        Build.from_config(config, "submission.cu")
    assert refused.value.field == field


def test_a_problem_that_cannot_be_compiled_as_it_wants_is_loaded_and_marked(tmp_path: Path) -> None:
    text = (FOLDER / "task.yml").read_text().replace("-funroll-loops", "-fplugin=x.so")
    for name in ("reference.py", "helpers.h", "template.cu"):
        (tmp_path / name).write_text((FOLDER / name).read_text())
    (tmp_path / "task.yml").write_text(text)
    assert "-fplugin=x.so' is not a flag" in load_problem(tmp_path).unsupported


def test_the_sets_own_evaluator_and_the_submission_are_no_further_sources() -> None:
    found = Build.from_config({"sources": ["eval.cu", "submission.cu", "more.cu"]}, "submission.cu")
    assert found.sources == ("more.cu",)


def test_a_source_that_is_not_there_and_a_python_name_are_refused() -> None:
    bundle = load_problem(FOLDER).to_bundle()
    for changes, field in (
        ({"build": bundle["build"] | {"sources": ["more.cu"]}}, "build.sources"),
        ({"submission_name": "submission.py"}, "submission_name"),
        ({"lang": "py"}, "build"),
        ({"build": None}, "build"),
    ):
        with pytest.raises(ProblemError) as refused:
            Problem.from_bundle(bundle | changes)
        assert refused.value.field == field


@given(st.text(max_size=30), st.sampled_from(["g++", "nvcc"]))
def test_no_text_gets_a_flag_past_that_names_a_file_or_runs_a_program(text: str, compiler: str) -> None:
    try:
        flags = Build.from_config({"compile_flags": [f"-{text}"]}, "s.cu").flags(compiler)
    except ProblemError:
        return
    for flag in flags:
        assert not {"/", " ", "@", "\n", "\0"}.intersection(flag)
        assert not flag.startswith(("-o", "-I", "-B", "-x", "-X", "-fplugin", "-Wl"))


def test_libraries_of_a_task_are_linked_by_nvcc() -> None:
    build = Build.from_config({"compile_flags": ["-O3"]}, "submission.cu", ["cublas", "cuda"])
    assert build.flags("nvcc") == ["-O3", "-lcublas", "-lcuda"]
    assert build.flags("g++") == ["-O3"]
    with pytest.raises(ProblemError, match="'rpath=/x' is no library that nvcc may link here"):
        Build.from_config({}, "submission.cu", ["rpath=/x"])


def test_a_task_with_its_libraries_is_compiled_with_them(tmp_path: Path) -> None:
    shutil.copytree(FOLDER, tmp_path / "scale")
    task = tmp_path / "scale" / "task.yml"
    task.write_text(task.read_text() + "libraries: [cublas]\n")
    problem = load_problem(tmp_path / "scale")
    assert problem.build is not None
    assert "-lcublas" in problem.build.flags("nvcc")
    task.write_text(task.read_text().replace("[cublas]", "[nccl]"))
    assert "'nccl' is no library that nvcc may link" in load_problem(tmp_path / "scale").unsupported


def test_a_task_with_a_reference_in_cuda_is_unsupported_for_that_reason(tmp_path: Path) -> None:
    """Upstream's `lang: cu`: reference.cuh has generate_input and ref_kernel on std::vector."""
    task = """
files:
  - {name: task.h, source: task.h}
  - {name: reference.cuh, source: reference.cuh}
  - {name: submission.cu, source: "@SUBMISSION@"}
lang: cu
config: {sources: [eval.cu, submission.cu], include_dirs: []}
benchmarks: [{size: 1024, seed: 1}]
"""
    for name, text in (("task.yml", task), ("task.h", "//"), ("reference.cuh", "//")):
        (tmp_path / name).write_text(text)
    unsupported = load_problem(tmp_path).unsupported
    assert "Its reference is CUDA code (reference.cuh)" in unsupported
    assert "docs/problems.md, section 6" in unsupported
