"""fast_p: the share of all problems that are solved and certainly more than p times as fast as the baseline."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.standings.ranking.overall import MOST_P, Solved, curve, fast, relative, score, standings

LEVELS = {"a": 1, "b": 1, "c": 2, "d": 2}
answers = st.lists(
    st.builds(
        Solved,
        ratio=st.floats(0.05, 20),
        half_width=st.none() | st.floats(0, 0.5),
        forgeable=st.floats(0, 0.2),
    ),
    max_size=12,
)


def test_failures_stay_in_the_denominator() -> None:
    found = score([Solved(0.4, 0.01)], 4)
    assert (found.solved, found.problems) == (1, 4)
    assert found.fast == (0.25, 0.25, 0.25)
    assert found.geometric_mean == pytest.approx(2.5)


def test_a_win_needs_the_lower_end_of_its_interval_above_p() -> None:
    assert Solved(1 / 1.10, 0.05).wins(1)
    assert not Solved(1 / 1.10, 0.12).wins(1)
    assert not Solved(1.0, 0.0).wins(1), "as fast is not faster"


def test_what_could_be_forged_does_not_count() -> None:
    assert Solved(1 / 1.10, 0.01, forgeable=0.05).wins(1)
    assert not Solved(1 / 1.10, 0.01, forgeable=0.10).wins(1)


def test_without_an_interval_it_is_correct_and_no_more() -> None:
    assert Solved(0.1, None).wins(0)
    assert not Solved(0.1, None).wins(0.01)


def test_a_slow_answer_is_correct() -> None:
    assert score([Solved(3.0, 0.01)], 2).fast == (0.5, 0.0, 0.0)


def test_nothing_solved_has_no_mean() -> None:
    found = score([], 3)
    assert (found.fast, found.geometric_mean) == ((0.0, 0.0, 0.0), None)


def test_levels_are_scored_each_on_their_own() -> None:
    table = standings({"ada": {"a": Solved(0.4, 0.0), "c": Solved(0.8, 0.0)}}, LEVELS)
    assert [(level, found.fast) for level, found in table[0].levels] == [(1, (0.5, 0.5, 0.5)), (2, (0.5, 0.5, 0.0))]


def test_the_order_is_by_fast_1_then_2_then_0_and_equals_share_a_rank() -> None:
    table = standings(
        {
            "ben": {"a": Solved(0.9, 0.0)},
            "ada": {"a": Solved(0.9, 0.0)},
            "cleo": {"b": Solved(0.4, 0.0)},
            "dora": {"a": Solved(2.0, 0.0), "b": Solved(2.0, 0.0), "c": Solved(2.0, 0.0)},
            "elsewhere": {"z": Solved(0.1, 0.0)},
        },
        LEVELS,
    )
    assert [(line.rank, line.entrant) for line in table] == [
        (1, "cleo"),
        (2, "ada"),
        (2, "ben"),
        (4, "dora"),
        (5, "elsewhere"),
    ]


def test_another_baseline_divides_and_widens() -> None:
    found = relative({"a": Solved(0.5, 0.03), "b": Solved(0.5, 0.0)}, {"a": Solved(0.8, 0.04)})
    assert found.keys() == {"a"}, "where the other has no time, there is no win against it"
    assert found["a"].ratio == pytest.approx(0.625)
    assert found["a"].half_width == pytest.approx(0.05)


@given(answers, st.floats(0, MOST_P))
def test_the_curve_is_fast_p_at_every_p(found: list[Solved], p: float) -> None:
    steps = curve(found, 12)
    assert [step for step in steps if step.p <= p][-1].share == fast(found, 12, p)


@given(answers)
def test_the_curve_only_falls(found: list[Solved]) -> None:
    shares = [step.share for step in curve(found, 12)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == len(found) / 12


@given(answers)
def test_the_mean_is_that_of_the_speedups(found: list[Solved]) -> None:
    mean = score(found, 12).geometric_mean
    if found:
        assert mean is not None
        assert math.isclose(mean ** len(found), math.prod(answer.speedup for answer in found), rel_tol=1e-9)
