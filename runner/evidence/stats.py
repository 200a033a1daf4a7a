"""Estimates from paired blocks, and a test for two groups of samples. Pure: lists of numbers in, numbers out."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist
from statistics import median as median
from typing import Final

CONFIDENCE: Final = 0.95
NORMAL_95: Final = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)  # standard deviations

# Of two groups:
FALSE_ALARM: Final = 1e-3
LEAST_SAMPLES: Final = 24
LEAST_SHARE: Final = 0.1  # of the smaller part; fewer are outliers


@dataclass(frozen=True)
class Estimate:
    """A median with the interval of its order statistics; `coverage` is below CONFIDENCE where n is too small."""

    value: float
    low: float
    high: float
    coverage: float

    @property
    def half_width(self) -> float:
        return math.inf if math.isinf(self.high) else (self.high - self.low) / 2

    def at_least(self, half_width: float) -> Estimate:
        """Return the estimate with an interval that reaches at least `half_width` to both sides."""
        return replace(self, low=min(self.low, self.value - half_width), high=max(self.high, self.value + half_width))


def midmean(values: Sequence[float]) -> float:
    """Return the mean of the middle half. Raises ValueError if there are no values.

    It resists a quarter of strays on each side, as a median resists half, and is steadier if values come in steps or
    gather at a few places, between which a median jumps.
    """
    if not values:
        raise ValueError("the midmean of nothing")
    quarter = len(values) // 4
    middle = sorted(values)[quarter : len(values) - quarter]
    return sum(middle) / len(middle)


def lower_quartile(values: Sequence[float]) -> float:
    """Return the value a quarter of the way up: typical of undisturbed samples, regardless of the disturbed samples."""
    if not values:
        raise ValueError("the quartile of nothing")
    return sorted(values)[len(values) // 4]


def tick(values: Sequence[float]) -> float:
    """Return the step of the clock that made these times: their smallest difference, at least a nanosecond.

    A device's events come in steps (32 ns on an H200). Medians of many calls therefore agree to the last digit, and
    their interval does not show how little is known.
    """
    ordered = sorted(set(values))
    return max(min((after - before for before, after in pairwise(ordered)), default=0.0), 1.0)


def median_estimate(values: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Return the narrowest symmetric pair of order statistics that holds the true median with at least `confidence`.

    For n independent values of one continuous distribution the k-th smallest and k-th largest hold it with probability
    1 - 2 · P(Binomial(n, 1/2) < k); no shape of the distribution is assumed. Six values are the fewest that reach 95 %
    (96.9 %: smallest and largest).
    """
    ordered = sorted(values)
    k, coverage = _rank(len(ordered), confidence)
    return Estimate(median(ordered), ordered[k - 1], ordered[-k], coverage)


@lru_cache(maxsize=4096)
def _rank(n: int, confidence: float) -> tuple[int, float]:
    """Return k, and the probability that the k-th smallest and k-th largest of n values enclose their median.

    Linear in n, with exact sums of binomial coefficients.
    """
    k, term, below = 1, 1, 1  # below: the sum of the first k coefficients
    coverage = 1 - 2 * (below / 2**n)
    while k < (n + 1) // 2:
        term = term * (n - k + 1) // k
        wider = 1 - 2 * ((below + term) / 2**n)
        if wider < confidence:
            break
        k, below, coverage = k + 1, below + term, wider
    return k, coverage


def jackknife_error(without: Sequence[float]) -> float:
    """Return the standard error of an estimate, from its values without each of the groups in turn."""
    groups = len(without)
    mean = sum(without) / groups
    return math.sqrt((groups - 1) / groups * sum((each - mean) ** 2 for each in without))


def quad_difference(first_a: float, first_b: float, second_b: float, second_a: float) -> float:
    """Return ln(B / A) of an ABBA quad of block medians: a linear drift over the quad cancels."""
    return (math.log(first_b) + math.log(second_b) - math.log(first_a) - math.log(second_a)) / 2


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))


@dataclass(frozen=True)
class Modes:
    """Medians of two groups of samples, and the share of samples in the smaller group."""

    low: float
    high: float
    share: float


def two_modes(values: Sequence[float]) -> Modes | None:
    """Return the two groups into which samples fall with a gap between them; None if one peak would explain them.

    Otsu's split (the split that leaves the least variance inside its two parts) always finds two parts; they are two
    modes if the stretch between them is emptier than either of their cores. Three windows of equal width are counted, a
    third of the distance between the parts' medians: around each median, and in the middle. In a distribution with one
    peak the middle holds at least as many as the thinner core, whatever the shape: skewed, heavy-tailed, flat. Hence
    the count in the middle is at most binomial with one half, and FALSE_ALARM bounds the effect of chance.
    """
    ordered = sorted(values)
    if len(ordered) < LEAST_SAMPLES:
        return None
    cut = _otsu(ordered)
    low, high = median(ordered[:cut]), median(ordered[cut:])
    third = (high - low) / 3

    def within(start: float, end: float) -> int:
        return bisect_right(ordered, end) - bisect_left(ordered, start)

    core = min(within(middle - third / 2, middle + third / 2) for middle in (low, high))
    between = within(low + third, high - third)
    count = between + core
    if 2 * between > core:
        return None
    # P(Binomial(n, 1/2) ≤ n / 3) is at most exp(-n / 18), by Hoeffding: below FALSE_ALARM for many samples, whose exact
    # sum would take hours.
    if count < 18 * math.log(1 / FALSE_ALARM):
        chance = sum(math.comb(count, number) for number in range(between + 1)) / 2**count
        if chance > FALSE_ALARM:
            return None
    return Modes(low, high, min(cut, len(ordered) - cut) / len(ordered))


def _otsu(ordered: Sequence[float]) -> int:
    """Return the size of the lower part, both parts having their least share."""
    count, total = len(ordered), math.fsum(ordered)
    least = max(1, math.ceil(LEAST_SHARE * count))
    best, cut, below = -1.0, least, math.fsum(ordered[: least - 1])
    for size in range(least, count - least + 1):
        below += ordered[size - 1]
        apart = (total - below) / (count - size) - below / size
        between = size * (count - size) * apart * apart
        if between > best:
            best, cut = between, size
    return cut
