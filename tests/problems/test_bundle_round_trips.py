"""A problem survives its JSON bundle unchanged, and its digest depends on the bundle alone."""

import json
import string
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from problems.spec import MAX_CASE_NAME_CHARS, Fuzz, IntRange, Precision, Problem, Tolerance, case_name

WORDS = st.text(string.ascii_letters + string.digits, min_size=1, max_size=12)
TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=40)
ARGUMENTS = st.sampled_from(["rows", "cols", "size", "shape", "distribution", "causal"])
WHOLE = st.integers(-(2**63), 2**63 - 1)
VALUES = st.one_of(
    WHOLE,
    st.floats(-1e15, 1e15),
    TEXTS,
    st.booleans(),
    st.lists(st.integers(0, 2**40), max_size=4),
)
SEEDS = st.just({}) | st.fixed_dictionaries({"seed": WHOLE})
CASES = st.builds(lambda case, seed: case | seed, st.dictionaries(ARGUMENTS, VALUES, max_size=5), SEEDS)
TIMEOUTS = st.floats(1, 3600)


@st.composite
def int_ranges(draw: st.DrawFn) -> IntRange:
    low = draw(st.integers(1, 1000))
    return IntRange(low=low, high=low + draw(st.integers(1, 1000)), odd=draw(st.booleans()), log=draw(st.booleans()))


CHOICES = st.one_of(int_ranges(), st.lists(VALUES, min_size=1, max_size=4).map(tuple))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    gpus = tuple(draw(st.lists(WORDS, max_size=3, unique=True)))
    timed_on = {name: tuple(draw(st.lists(CASES, min_size=1, max_size=2))) for name in gpus if draw(st.booleans())}
    baseline = draw(st.none() | TEXTS)
    return Problem(
        slug=draw(WORDS),
        title=draw(WORDS),
        description=draw(TEXTS),
        files={"reference.py": draw(TEXTS), **draw(st.dictionaries(WORDS.map(lambda name: name + ".py"), TEXTS))},
        benchmarks=tuple(draw(st.lists(CASES, min_size=1, max_size=3))),
        tests=tuple(draw(st.lists(CASES, max_size=3))),
        submission_name="the_submission.py",
        templates=draw(st.dictionaries(WORDS, TEXTS, max_size=2)),
        test_timeout_s=draw(TIMEOUTS),
        benchmark_timeout_s=draw(TIMEOUTS),
        ranked_timeout_s=draw(TIMEOUTS),
        ranking_by=draw(st.sampled_from(["geom", "mean", "last"])),
        gpus=gpus,
        benchmarks_on=timed_on,
        fuzz=draw(st.none() | st.builds(Fuzz, st.dictionaries(ARGUMENTS, CHOICES, min_size=1), st.integers(1, 64))),
        tolerance=draw(st.none() | st.builds(Tolerance, rtol=st.floats(0, 1), atol=st.floats(0, 1))),
        precision=draw(
            st.none()
            | st.builds(
                Precision,
                st.just(("fp16", "fp32")),
                st.none() | st.floats(1e-9, 1),
                st.sampled_from(["", "rows * cols", "4096"]),
            )
        ),
        baseline=baseline,
        untuned_on=() if baseline is None else tuple(name for name in gpus if draw(st.booleans())),
        speed_of_light=draw(st.sampled_from([{}, {"read_bytes": "8 * size", "flops": {"fp32": "size"}}])),
        level=draw(st.none() | st.integers(1, 4)),
        tags=tuple(draw(st.lists(WORDS, max_size=3, unique=True))),
    )


@given(problems())
def test_a_problem_survives_its_bundle_and_the_wire(problem: Problem) -> None:
    over_the_wire = json.loads(json.dumps(problem.to_bundle(), allow_nan=False))
    again = Problem.from_bundle(over_the_wire)
    assert again == problem
    assert again.digest == problem.digest


@given(problems(), problems())
def test_equal_problems_and_equal_digests_are_the_same_thing(one: Problem, other: Problem) -> None:
    assert (json.dumps(one.to_bundle(), sort_keys=True) == json.dumps(other.to_bundle(), sort_keys=True)) == (
        one.digest == other.digest
    )


def test_the_digest_names_its_algorithm_and_changes_with_any_file() -> None:
    def digest(reference: str) -> str:
        return Problem("a", "A", "", {"reference.py": reference}, benchmarks=({"n": 1},)).digest

    assert digest("x").startswith("sha256:")
    assert len(digest("x")) == len("sha256:") + 64
    assert digest("x") != digest("y")


def test_digest_of_a_problem_stays_when_problems_get_a_new_field() -> None:
    """A changed digest gives every problem a new version at its next import."""
    problem = Problem("a", "A", "", {"reference.py": "x"}, benchmarks=({"n": 1},))
    assert problem.digest == "sha256:89b2977a83ffb4b9c6478788154aacf059870eb443d0410057008917dc60be5f", (
        "give the new field by(…, omitted=True)"
    )


def test_a_case_is_named_by_its_sorted_arguments_without_the_seed() -> None:
    case: dict[str, Any] = {"rows": 512, "seed": 7, "cols": 4096, "causal": True, "shape": [1, 2], "kind": "wide"}
    assert case_name(case) == "causal=true cols=4096 kind=wide rows=512 shape=[1,2]"
    assert case_name({"seed": 3}) == "default"


def test_the_name_of_a_long_case_is_cut_and_stays_its_own() -> None:
    fits: dict[str, Any] = {"text": "x" * 200, "more": "y" * 200, "n": int("1" * 80)}
    assert "…" not in case_name(fits)
    long = [{"dims": [10_000_000 + n for n in range(63)] + [last], "seed": last} for last in (1, 2)]
    first, second = map(case_name, long)
    assert len(first) == len(second) == MAX_CASE_NAME_CHARS
    assert first.startswith("dims=[10000000,10000001,")
    assert first != second
    assert first == case_name(long[0] | {"seed": 9})


@given(problems())
def test_on_one_hardware_a_problem_is_timed_by_its_own_cases_and_knows_no_others(problem: Problem) -> None:
    for hardware in (*problem.gpus, "elsewhere"):
        here = problem.on(hardware)
        assert here.benchmarks == problem.benchmarks_on.get(hardware, problem.benchmarks)
        assert "benchmarks_on" not in here.to_bundle()
        assert here.on(hardware) == here
        assert here.is_tuned_on(hardware) == problem.is_tuned_on(hardware)
        assert set(here.untuned_on) <= {hardware}
        told = {name: getattr(problem, name) for name in ("benchmarks", "benchmarks_on", "untuned_on")}
        assert replace(here, **told) == problem
