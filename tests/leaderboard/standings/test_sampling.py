"""pass@k, fast_p@k and best-of-k equal the mean over all draws of k attempts, and their intervals hold."""

import math
import random
from itertools import combinations
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.standings.ranking.overall import Solved
from leaderboard.standings.ranking.sampling import (
    Attempts,
    at_least_one,
    best_of,
    curve_at,
    fast_at,
    ks,
    share,
    wilson,
)

solved = st.builds(
    Solved, ratio=st.floats(0.1, 5), half_width=st.none() | st.floats(0, 0.3), forgeable=st.floats(0, 0.2)
)
attempts = st.tuples(st.lists(solved, max_size=5), st.integers(0, 3), st.integers(0, 4)).map(
    lambda told: Attempts(len(told[0]) + told[1] + told[2], len(told[0]) + told[1], tuple(told[0]))
)


def drawn(one: Attempts) -> list[Solved | bool]:
    """Return all attempts: an answer, True for correct without a time, False for failed."""
    untimed = one.correct - len(one.answers)
    return [*one.answers, *[True] * untimed, *[False] * (one.total - one.correct)]


def counts(attempt: Solved | bool, p: float) -> bool:
    return attempt.wins(p) if isinstance(attempt, Solved) else attempt and p <= 0


@given(attempts, st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.integers(1, 12))
def test_fast_p_at_k_equals_the_share_of_draws_with_a_win(one: Attempts, p: float, k: int) -> None:
    if k > one.total:
        return
    draws = list(combinations(drawn(one), k))
    expected = sum(any(counts(attempt, p) for attempt in draw) for draw in draws) / len(draws)
    assert fast_at([one], p, k).value == pytest.approx(expected)
    if p == 0:
        assert at_least_one(one.total, one.correct, k) == pytest.approx(expected)


@given(attempts, st.sampled_from([0.0, 1.0]), st.integers(1, 12))
def test_the_interval_over_attempts_holds_the_estimate(one: Attempts, p: float, k: int) -> None:
    if k > one.total:
        return
    value, (low, high) = fast_at([one], p, k)
    assert 0 <= low <= value <= high <= 1
    assert low < high


@given(attempts, st.integers(1, 12))
def test_best_of_k_equals_the_mean_over_draws(one: Attempts, k: int) -> None:
    if k > one.total:
        return
    draws = list(combinations(drawn(one), k))
    speedups = [[max(1.0, each.speedup) if isinstance(each, Solved) else 1.0 for each in draw] for draw in draws]
    assert best_of([one], k) == pytest.approx(fmean(max(draw) for draw in speedups))


def test_all_draws_differ_from_a_biased_estimate() -> None:
    """1 − (1 − c/n)^k, which draws an attempt twice, would be too low."""
    assert at_least_one(5, 1, 5) == 1.0
    assert pytest.approx(0.672, abs=1e-3) == 1 - (1 - 1 / 5) ** 5


@pytest.mark.parametrize("k", [0, -1, 6])
def test_k_beyond_the_attempts_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match="is not from 1 to the 5 attempts"):
        at_least_one(5, 1, k)


@given(st.lists(attempts.filter(lambda one: one.total > 0), min_size=2, max_size=4), st.integers(1, 12))
def test_several_problems_are_averaged(problems: list[Attempts], k: int) -> None:
    if k not in ks(problems):
        return
    alone = [fast_at([one], 1.0, k).value for one in problems]
    assert fast_at(problems, 1.0, k).value == pytest.approx(fmean(alone))
    assert math.log(best_of(problems, k)) == pytest.approx(fmean(math.log(best_of([one], k)) for one in problems))


def test_k_goes_in_powers_of_two_to_the_fewest_attempts() -> None:
    assert ks([Attempts(12, 3), Attempts(6, 0)]) == [1, 2, 4, 6]
    assert ks([Attempts(8, 0)]) == [1, 2, 4, 8]
    assert ks([Attempts(1, 1)]) == [1]
    assert ks([]) == []
    assert ks([Attempts(0, 0)]) == []


@given(st.lists(attempts.filter(lambda one: one.total > 0), min_size=1, max_size=3), st.floats(0, 4))
def test_the_curve_is_fast_p_at_every_p(problems: list[Attempts], p: float) -> None:
    steps = curve_at(problems, 1)
    held = [step.share for step in steps if step.p <= p][-1]
    assert held == pytest.approx(fast_at(problems, p, 1).value)


@given(st.integers(1, 300), st.data())
def test_wilson_holds_the_share_and_stays_inside(total: int, data: st.DataObject) -> None:
    value = data.draw(st.integers(0, total)) / total
    low, high = wilson(value, total)
    assert 0 <= low <= value <= high <= 1
    assert low < high


def test_wilson_agrees_with_published_figures() -> None:
    """Newcombe 1998 (Statistics in Medicine 17:857), table I: 81 of 263 and 0 of 20, method 3."""
    assert wilson(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0.0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_the_interval_over_problems_covers_the_truth() -> None:
    draw, covered = random.Random(1), 0
    for _ in range(1_000):
        chances = [draw.betavariate(0.5, 1.0) for _ in range(50)]  # mean 1/3
        found = share(fmean(at_least_one(4, sum(draw.random() < q for _ in range(4)), 1) for q in chances), 50)
        covered += found.interval.low <= 1 / 3 <= found.interval.high
    assert covered >= 950


def test_the_interval_over_attempts_covers_the_truth() -> None:
    draw, covered = random.Random(2), 0
    truth = 1 - (1 - 0.2) ** 4
    for _ in range(1_000):
        low, high = fast_at([Attempts(64, sum(draw.random() < 0.2 for _ in range(64)))], 0.0, 4).interval
        covered += low <= truth <= high
    assert covered >= 930
