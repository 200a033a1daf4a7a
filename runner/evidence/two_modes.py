"""Test whether samples fall into two groups with a gap between them. Pure.

Otsu's split (the split that leaves the least variance inside its two parts) always finds two parts; they are two modes
if the stretch between them is emptier than either of their cores. Three windows of equal width are counted, a third of
the distance between the parts' medians: around each median, and in the middle. In a distribution with one peak the
middle holds at least as many as the thinner core, whatever the shape: skewed, heavy-tailed, flat. Hence the count in
the middle is at most binomial with one half, and FALSE_ALARM bounds the effect of chance.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from runner.evidence import stats

FALSE_ALARM: Final = 1e-3
LEAST_SAMPLES: Final = 24
LEAST_SHARE: Final = 0.1  # of the smaller part; fewer are outliers


@dataclass(frozen=True)
class Modes:
    """Medians of the two parts, and the share of samples in the smaller part."""

    low: float
    high: float
    share: float


def two_modes(values: Sequence[float], false_alarm: float = FALSE_ALARM) -> Modes | None:
    """Return the two groups; None if a single peak would explain the samples."""
    ordered = sorted(values)
    if len(ordered) < LEAST_SAMPLES:
        return None
    cut = _otsu(ordered)
    low, high = stats.median(ordered[:cut]), stats.median(ordered[cut:])
    third = (high - low) / 3
    core = min(_count(ordered, middle - third / 2, middle + third / 2) for middle in (low, high))
    between = _count(ordered, low + third, high - third)
    count = between + core
    chance = sum(math.comb(count, number) for number in range(between + 1)) / 2**count  # P(Binomial(n, 1/2) ≤ between)
    if 2 * between > core or chance > false_alarm:
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


def _count(ordered: Sequence[float], start: float, end: float) -> int:
    return bisect_right(ordered, end) - bisect_left(ordered, start)
