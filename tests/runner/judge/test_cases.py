"""Choice of judged cases: all public cases, and fresh secret cases inside the declared ranges."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from problems.spec import Fuzz, IntRange, Problem
from runner.judge.cases import draw, plan_checks


def problem(**changes: Any) -> Problem:
    fields: dict[str, Any] = {
        "slug": "p",
        "title": "p",
        "description": "",
        "files": {"reference.py": ""},
        "tests": ({"n": 3, "seed": 7},),
        "benchmarks": ({"n": 100, "seed": 8}, {"n": 200, "seed": 9}),
    }
    return Problem(**(fields | changes))


@given(st.integers(1, 500), st.integers(0, 500), st.booleans(), st.booleans(), st.randoms())
def test_a_drawn_number_lies_in_its_range(low: int, width: int, odd: bool, log: bool, chance: random.Random) -> None:
    if odd and width == 0:
        low |= 1
    value = draw(IntRange(low, low + width, odd=odd, log=log), chance)
    assert isinstance(value, int)
    assert low <= value <= low + width
    assert not odd or value % 2


def test_public_cases_come_first_with_their_own_seeds() -> None:
    planned = plan_checks(problem(), random.Random(1))
    assert [(plan.public, plan.seed) for plan in planned[:1]] == [(True, 7)]
    assert not any(plan.public for plan in planned[1:])


def test_without_ranges_there_are_ten_secret_cases_over_the_known_shapes() -> None:
    secret = [plan for plan in plan_checks(problem(), random.Random(1)) if not plan.public]
    assert len(secret) == 10
    assert {plan.case["n"] for plan in secret} == {3, 100, 200}
    assert not {plan.seed for plan in secret} & {7, 8, 9}


@pytest.mark.parametrize("cases", [1, 7, 8])
@pytest.mark.parametrize("benchmarks", [(), ({"n": 100},), ({"n": 100}, {"n": 200}, {"n": 300})])
def test_a_problem_that_asks_for_fewer_gets_ten_too(cases: int, benchmarks: tuple[Any, ...]) -> None:
    asked = problem(fuzz=Fuzz({"n": IntRange(1, 50)}, cases), benchmarks=benchmarks)
    secret = [plan for plan in plan_checks(asked, random.Random(1)) if not plan.public]
    assert len(secret) == max(10, len(benchmarks) + cases)
    assert len({plan.seed for plan in secret}) == len(secret)
    assert all(1 <= plan.case["n"] <= 50 for plan in secret[len(benchmarks) :])


def test_a_hardwares_own_timed_shapes_are_checked_there_and_those_of_others_are_not() -> None:
    asked = problem(
        gpus=("cpu", "H200"),
        benchmarks_on={"H200": ({"n": 4096},)},
        fuzz=Fuzz(args={"n": IntRange(1, 9), "kind": ("a", "b", "c")}, cases=5),
    )
    shapes = [plan.case["n"] for plan in plan_checks(asked.on("H200"), random.Random(1)) if not plan.public]
    assert sorted(shapes)[-4:] == [4096] * 4  # unchanged, and with each kind of data
    assert not {100, 200} & set(shapes)


def test_the_timed_shapes_are_among_the_secret_ones() -> None:
    fuzz = Fuzz({"n": IntRange(1, 50)}, 12)
    secret = [plan.case["n"] for plan in plan_checks(problem(fuzz=fuzz), random.Random(1)) if not plan.public]
    assert secret[:2] == [100, 200]
    assert len(secret) == 14


def test_the_timed_shapes_meet_every_kind_of_values() -> None:
    fuzz = Fuzz({"n": IntRange(1, 50), "distribution": ("normal", "wide", "zeros", "constant")}, 5)
    planned = plan_checks(problem(fuzz=fuzz), random.Random(1))
    timed = [plan.case for plan in planned if not plan.public and plan.case["n"] in (100, 200)]
    assert {case.get("distribution") for case in timed} == {None, "normal", "wide", "zeros", "constant"}
    assert {case["n"] for case in timed if "distribution" in case} == {100, 200}


def test_two_plans_share_no_secret_seed() -> None:
    chance = random.SystemRandom()
    first, second = plan_checks(problem(), chance), plan_checks(problem(), chance)
    assert not {plan.seed for plan in first if not plan.public} & {plan.seed for plan in second if not plan.public}
