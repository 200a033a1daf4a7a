"""Any unsafe, mistyped or too large value in a bundle is refused with the name of its field."""

from typing import Any

import pytest

from problems.fields import ProblemError
from problems.spec import FORMATS, MAX_BUNDLE_BYTES, Problem
from runner.evidence.ceilings import ENGINES
from runner.judge.data import error_model


def bundle(**changes: object) -> dict[str, Any]:
    plain = Problem(
        slug="scale",
        title="Scale",
        description="Scale a vector.",
        files={"reference.py": "def ref_kernel(data): ..."},
        benchmarks=({"size": 4, "seed": 1},),
    )
    return {**plain.to_bundle(), **changes}


def test_the_plain_bundle_is_accepted() -> None:
    assert Problem.from_bundle(bundle()).slug == "scale"


@pytest.mark.parametrize(
    ("changes", "field", "says"),
    [
        ({"bundle": 2}, "bundle", "upgrade the older side"),
        ({"slug": "../etc"}, "slug", "letters, digits"),
        ({"slug": ""}, "slug", "letters, digits"),
        ({"title": 3}, "title", "expected text"),
        ({"description": "a\x00b"}, "description", "NUL"),
        ({"description": "\ud800"}, "description", "surrogate"),
        ({"files": {"../reference.py": "", "reference.py": ""}}, "files", "no folder"),
        ({"files": {"a/b.py": "", "reference.py": ""}}, "files", "no folder"),
        ({"files": {"..": "", "reference.py": ""}}, "files", "no folder"),
        ({"files": {}}, "files", "reference.py is missing"),
        ({"files": {"reference.py": "", "submission.py": ""}}, "files", "submission's own name"),
        ({"files": {f"f{n}.py": "" for n in range(65)}}, "files", "at most 64"),
        ({"files": {"reference.py": 1}}, "files.reference.py", "expected text"),
        ({"benchmarks": []}, "benchmarks", "at least one case"),
        ({"benchmarks": {"size": 1}}, "benchmarks", "expected a list"),
        ({"benchmarks": [{"seed": "7"}]}, "benchmarks[0].seed", "got '7'; write it without quotes"),
        ({"tests": [{"seed": 1.5}]}, "tests[0].seed", "expected a whole number, got 1.5"),
        ({"tests": [{"seed": True}]}, "tests[0].seed", "expected a whole number, got True"),
        ({"tests": [{True: 1, "size": 2}]}, "tests[0]", "YAML reads on, off, yes and no as true or false); put it in"),
        ({"build": {"defines": {"N": 16**9000}}}, "build.defines.N", "too large to show"),
        ({"benchmarks": [{"size": None}]}, "benchmarks[0].size", "is not a number"),
        ({"benchmarks": [{"size": 2**63}]}, "benchmarks[0].size", "outside"),
        ({"benchmarks": [{"a b": 1}]}, "benchmarks[0]", "argument of generate_input"),
        ({"benchmarks": [{"lambda": 1}]}, "benchmarks[0]", "argument of generate_input"),
        ({"benchmarks": [{"shape": [1, "2"]}]}, "benchmarks[0].shape[1]", "whole number"),
        ({"tests": [{"size": 1}] * 256}, "tests", "at most 256"),
        ({"test_timeout_s": 0}, "test_timeout_s", "outside"),
        ({"ranked_timeout_s": 3601}, "ranked_timeout_s", "outside"),
        ({"benchmark_timeout_s": True}, "benchmark_timeout_s", "finite number"),
        ({"ranking_by": "best"}, "ranking_by", "geom, mean, last"),
        ({"lang": "rust"}, "lang", "py, cu"),
        ({"lang": ["py"]}, "lang", "py, cu"),
        ({"entry": "os.system"}, "entry", "function"),
        ({"submission_name": "a/b.py"}, "submission_name", "no folder"),
        ({"gpus": ["H100 SXM"]}, "gpus[0]", "single word"),
        ({"gpus": "cpu"}, "gpus", "expected a list"),
        ({"gpus": ["cpu", "H200", "CPU"]}, "gpus", "cpu and CPU differ in case only"),
        ({"title": "Vector\u200badd"}, "title", "invisible character U+200B at place 7; remove it"),
        ({"title": "Add\u202e dda"}, "title", "invisible character U+202E"),
        ({"title": "Add\u3164"}, "title", "invisible character U+3164 at place 4"),
        ({"title": "Add\nit"}, "title", "invisible character U+000A"),
        ({"title": " "}, "title", "is empty"),
        ({"benchmarks_on": [{"size": 1}]}, "benchmarks_on", "expected a mapping"),
        ({"gpus": ["cpu"], "baseline": "b", "untuned_on": ["H200"]}, "untuned_on", "'H200' is not among gpus (cpu)"),
        ({"gpus": ["cpu"], "untuned_on": ["cpu"]}, "untuned_on", "said of a baseline, and there is none"),
        ({"gpus": ["cpu"], "baseline": "b", "untuned_on": "cpu"}, "untuned_on", "expected a list"),
        ({"benchmarks_on": {"H200": [{"size": 1}]}}, "benchmarks_on.H200", "not among gpus (empty); add it there"),
        ({"gpus": ["cpu"], "benchmarks_on": {"h200": [{"n": 1}]}}, "benchmarks_on.h200", "not among gpus (cpu)"),
        ({"gpus": ["cpu"], "benchmarks_on": {"cpu": []}}, "benchmarks_on.cpu", "is empty; leave cpu out"),
        ({"gpus": ["cpu"], "benchmarks_on": {"cpu": {"n": 1}}}, "benchmarks_on.cpu", "expected a list"),
        ({"gpus": ["cpu"], "benchmarks_on": {"cpu": [{"n": None}]}}, "benchmarks_on.cpu[0].n", "is not a number"),
        ({"gpus": ["cpu"], "benchmarks_on": {"cpu": [{"n": 1}] * 256}, "tests": [{"n": 1}]}, "tests", "at most 256"),
        ({"fuzz": {"args": {"n": []}, "cases": 3}}, "fuzz.n", "empty list"),
        ({"fuzz": {"args": {}, "cases": 3}}, "fuzz.args", "is empty"),
        ({"fuzz": {"args": {"n": [1]}, "cases": 65}}, "fuzz.cases", "outside"),
        ({"fuzz": {"args": {"n": {"int": [5, 1]}}, "cases": 3}}, "fuzz.n.int", "swap"),
        ({"fuzz": {"args": {"n": {"int": [0, 9], "log": True}}, "cases": 3}}, "fuzz.n.int", "at least 1"),
        ({"fuzz": {"args": {"n": {"int": [4, 4], "odd": True}}, "cases": 3}}, "fuzz.n.int", "no odd number"),
        ({"fuzz": {"args": {"n": {"int": [1]}}, "cases": 3}}, "fuzz.n.int", "[low, high]"),
        ({"fuzz": {"args": {"n": {"float": [1, 2]}}, "cases": 3}}, "fuzz.n.float", "unknown key"),
        ({"tolerance": {"rtol": 1e-5}}, "tolerance.atol", "missing"),
        ({"tolerance": {"rtol": -1, "atol": 0}}, "tolerance.rtol", "outside"),
        ({"tolerance": {"rtol": "tight", "atol": 0}}, "tolerance.rtol", "finite number"),
        ({"precision": {"legal": []}}, "precision.legal", "at least one"),
        ({"precision": {"legal": ["FP 32"]}}, "precision.legal[0]", "no number format"),
        ({"precision": {"legal": ["fp32", "float16"]}}, "precision.legal[1]", "known are fp64, fp32, tf32, fp16, bf16"),
        ({"precision": {"legal": [["fp32"]]}}, "precision.legal[0]", "no number format"),
        ({"precision": {"legal": ["fp32"], "reduction": "n; n"}}, "precision.reduction", "arithmetic"),
        ({"speed_of_light": {"read_bytes": "__import__('os')"}}, "speed_of_light.read_bytes", "arithmetic"),
        ({"speed_of_light": {"reads": "1"}}, "speed_of_light.reads", "unknown key"),
        ({"level": 5}, "level", "outside"),
        ({"tags": [f"t{n}" for n in range(17)]}, "tags", "at most 16"),
        ({"surprise": 1}, "surprise", "unknown key"),
    ],
)
def test_a_bad_field_is_named(changes: dict[str, object], field: str, says: str) -> None:
    with pytest.raises(ProblemError) as refused:
        Problem.from_bundle(bundle(**changes))
    assert refused.value.field == field
    assert says in refused.value.message


@pytest.mark.parametrize("data", [None, [], "text", {1: 2}, {}])
def test_what_is_no_bundle_at_all_is_refused(data: object) -> None:
    with pytest.raises(ProblemError):
        Problem.from_bundle(data)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_json_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises(ProblemError) as refused:
        Problem.from_bundle(bundle(benchmarks=[{"size": value}]))
    assert refused.value.field == "benchmarks[0].size"


def test_the_formats_that_may_be_legal_are_those_that_the_judge_knows() -> None:
    engines = {name.removesuffix("_tc") for name in ENGINES}
    assert set(FORMATS) == engines | set(error_model.FORMATS)


def test_a_bundle_over_a_megabyte_is_refused() -> None:
    with pytest.raises(ProblemError) as refused:
        Problem.from_bundle(bundle(description="x" * MAX_BUNDLE_BYTES))
    assert "at most 1000000" in refused.value.message


def test_an_unsupported_problem_needs_no_reference() -> None:
    assert Problem.from_bundle(bundle(files={}, benchmarks=[], unsupported="multi-GPU")).unsupported == "multi-GPU"
