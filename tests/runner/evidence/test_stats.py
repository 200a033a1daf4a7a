"""Estimates: the interval holds its promised coverage, drift cancels, order does not matter."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.evidence import stats

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60)


@given(numbers, st.randoms())
def test_the_order_of_the_samples_does_not_matter(values: list[float], chance: random.Random) -> None:
    shuffled = values[:]
    chance.shuffle(shuffled)
    assert stats.median_estimate(values) == stats.median_estimate(shuffled)


@given(numbers)
def test_the_median_lies_in_its_interval(values: list[float]) -> None:
    found = stats.median_estimate(values)
    assert found.low <= found.value <= found.high


def test_six_values_are_the_fewest_with_enough_coverage() -> None:
    assert stats.median_estimate(range(5)).coverage < stats.CONFIDENCE
    assert stats.median_estimate(range(6)).coverage == pytest.approx(0.96875)


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    chance = random.Random(5)
    trials, n = 2000, 12
    hits = 0
    for _ in range(trials):
        found = stats.median_estimate([chance.lognormvariate(0, 1) for _ in range(n)])
        hits += found.low <= 1.0 <= found.high
    assert hits / trials >= 0.95


def test_a_linear_drift_cancels_in_a_quad() -> None:
    ramp = [1.0, 1.01, 1.02, 1.03]
    a, b = 10.0, 20.0
    quad = (a * ramp[0], b * ramp[1], b * ramp[2], a * ramp[3])
    assert stats.quad_difference(*quad) == pytest.approx(math.log(2), abs=1e-3)


def test_the_median_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no median"):
        stats.median([])


def test_the_step_of_a_clock_is_the_smallest_difference_of_its_times() -> None:
    assert stats.tick([3_584, 3_552, 3_552, 3_680]) == 32
    assert stats.tick([7.0, 7.0]) == stats.tick([]) == 1


def test_an_interval_is_no_narrower_than_asked_and_its_value_stays() -> None:
    found = stats.median_estimate([0.0] * 8).at_least(0.01)
    assert (found.low, found.value, found.high) == (-0.01, 0.0, 0.01)
    wide = stats.median_estimate([-1.0, 1.0] * 8)
    assert wide.at_least(0.01) == wide


@given(numbers, st.randoms())
def test_a_midmean_lies_in_the_middle_half_and_is_deaf_to_a_quarter_of_strays(
    values: list[float], chance: random.Random
) -> None:
    ordered = sorted(values)
    quarter = len(ordered) // 4
    found = stats.midmean(values)
    assert ordered[quarter] - 1e-6 <= found <= ordered[-1 - quarter] + 1e-6
    strayed = [1e12] * quarter + ordered[: len(ordered) - quarter]
    chance.shuffle(strayed)
    assert stats.midmean(strayed) <= ordered[-1] + 1e-6


def test_a_midmean_moves_smoothly_where_a_median_jumps() -> None:
    """Two places, one of which gets an extra call: a median goes all the way, a midmean a step."""
    before, after = [3.5] * 13 + [3.7] * 12, [3.5] * 12 + [3.7] * 13
    assert stats.median(after) - stats.median(before) == pytest.approx(0.2)
    assert 0 < stats.midmean(after) - stats.midmean(before) < 0.02
