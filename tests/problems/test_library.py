"""The sample set loads, its samples are what their folders say, and its tolerances part fp32 from everything less."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from problems.formats.gpumode import load_set
from problems.spec import Case, Problem

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "problems" / "library"
SLUGS = ("vectoradd", "softmax")
MARGIN = 4  # honest rounding stays this many times inside the tolerance
COPYABLE = ("zeros", "constant_rows", "=1 ")  # cases whose answer a constant or a lower precision can hit

Errors = dict[str, dict[str, float]]


@cache
def load(slug: str) -> Problem:
    (problem,) = (e.problem for e in load_set(LIBRARY / "kernels101.yaml").entries if e.slug == slug)
    return problem


@cache
def errors_of(slug: str) -> Errors:
    command = [sys.executable, str(Path(__file__).with_name("sample_errors.py")), str(LIBRARY / "kernels101" / slug)]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.defpath, os.environ["PATH"]])
    env = {"PATH": path, "HOME": os.environ.get("HOME", "/tmp"), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    errors: Errors = json.loads(done.stdout)
    return errors


def elements(case: Case) -> int:
    sizes = [value for name, value in case.items() if name in ("size", "rows", "cols")]
    total = 1
    for size in sizes:
        assert isinstance(size, int)
        total *= size
    return total


def telling(errors: dict[str, float]) -> dict[str, float]:
    """The cases where a wrong method must show: neither degenerate values nor a single element."""
    return {name: value for name, value in errors.items() if not any(mark in f"{name} " for mark in COPYABLE)}


def test_the_sample_set_loads_without_a_warning() -> None:
    problems = load_set(LIBRARY / "kernels101.yaml")
    assert problems.name == "Kernels 101"
    assert [entry.slug for entry in problems.entries] == list(SLUGS)
    assert [entry.gpus for entry in problems.entries] == [("cpu",), ("cpu",)]
    assert problems.warnings == ()


@pytest.mark.parametrize("slug", SLUGS)
def test_a_problem_is_complete_and_supported(slug: str) -> None:
    problem = load(slug)
    assert problem.unsupported == ""
    assert problem.ranking_by == "geom"
    assert set(problem.files) == {"reference.py", "task.py"}
    assert set(problem.templates) == {"Python", "C", "C++"}
    assert problem.benchmarks
    assert problem.baseline is not None
    assert problem.fuzz is not None
    assert problem.fuzz.cases == 12
    assert problem.tolerance is not None
    assert "$$" in problem.description
    assert Problem.from_bundle(json.loads(json.dumps(problem.to_bundle()))) == problem


@pytest.mark.parametrize("slug", SLUGS)
def test_one_case_is_a_large_power_of_two_which_special_cases_like(slug: str) -> None:
    sizes = [elements(case) for case in (*load(slug).tests, *load(slug).benchmarks)]
    assert any(size >= 1 << 16 and size & (size - 1) == 0 for size in sizes)


@pytest.mark.parametrize("slug", SLUGS)
def test_every_sample_says_what_it_is(slug: str) -> None:
    samples = sorted((LIBRARY / "kernels101" / slug / "submissions").glob("*/*.py"))
    kinds = [path.parent.name for path in samples]
    assert {kind: kinds.count(kind) >= 1 for kind in ("accepted", "wrong", "slow", "cheating")} == dict.fromkeys(
        ("accepted", "wrong", "slow", "cheating"), True
    )
    assert kinds.count("accepted") >= 4
    for path in samples:
        first, *rest = path.read_text().splitlines()
        assert first.startswith("# ")
        directives = [line for line in rest if line.startswith("#!PHOTOFINISH leaderboard")]
        assert directives in ([], [f"#!PHOTOFINISH leaderboard {slug}"])


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_honest_samples_pass_with_margin_everywhere(slug: str) -> None:
    errors = errors_of(slug)
    honest = [name for name in errors if name.split("/")[0] in ("accepted", "slow", "template", "baseline")]
    assert len(honest) >= 9
    for name in honest:
        worst = max(errors[name].values())
        assert worst <= 1 / MARGIN, f"{name}: {worst} of the tolerance"


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_wrong_samples_fail_a_public_or_secret_case(slug: str) -> None:
    errors = errors_of(slug)
    wrong = [name for name in errors if name.startswith("wrong/")]
    assert wrong
    for name in wrong:
        assert max(errors[name].values()) > 1, name
        assert min(errors[name].values()) <= 1, f"{name} fails everywhere: not a plausible bug"


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_half_precision_fails_every_telling_case_by_a_margin(slug: str) -> None:
    half = telling(errors_of(slug)["answer/half"])
    assert len(half) >= 8
    assert min(half.values()) > MARGIN, half


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("answer", ["zeros", "ones", "uniform", "input", "untouched"])
def test_an_answer_that_needs_no_work_fails_every_telling_case(slug: str, answer: str) -> None:
    errors = telling(errors_of(slug)[f"answer/{answer}"])
    assert min(errors.values()) > 1, errors


@pytest.mark.slow
@pytest.mark.parametrize("slug", SLUGS)
def test_an_answer_remembered_by_shape_is_wrong_for_the_next_seed(slug: str) -> None:
    errors = telling(errors_of(slug)["cheating/shape_cache"])
    assert min(errors.values()) > 1, errors
