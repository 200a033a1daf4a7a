"""Pure: figures of several attempts at each problem: pass@k, best-of-k, fast_p@k, and their 95 % intervals.

pass@k      the chance that at least one of k attempts at a problem is correct. Of n attempts c are correct:
            1 − C(n − c, k) / C(n, k), without bias (Chen et al. 2021, arXiv:2107.03374, equation 1).
fast_p@k    the same, where an attempt counts if it is correct and surely more than p times as fast as the baseline, as
            in overall.py. With k = 1 it is the mean fast_p of an attempt (Ouyang et al. 2025, arXiv:2502.10517).
best-of-k   the expected speedup of the best of k attempts: the i-th smallest of n is the largest of k drawn without
            replacement with the chance C(i − 1, k − 1) / C(n, k). A failed or slow attempt counts as the baseline, 1.0,
            because its sender keeps the baseline.

Over several problems, pass@k and fast_p@k are the mean and best-of-k is the geometric mean. k is at most the smallest
number of attempts at a problem: no attempt is drawn twice.

Intervals are Wilson's (1927). Over problems, the problems are a sample of all such problems. A share in [0, 1] has at
most the variance of a yes or no with its mean, so the interval is not too narrow for means of shares either. Unlike a
bootstrap it needs no seed, and it has a width where all or no problems are solved. With a single problem the attempts
are the sample: Wilson's interval of c / n, taken through 1 − (1 − q)^k, which grows with q.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, geometric_mean
from typing import Final, NamedTuple

from leaderboard.standings.ranking.overall import MOST_P, Solved, Step

Z: Final = 1.959963984540054  # of a two-sided 95 % interval


@dataclass(frozen=True)
class Attempts:
    """The judged attempts at a problem. `answers`: of the correct attempts that were timed."""

    total: int
    correct: int
    answers: tuple[Solved, ...] = ()

    @cached_property
    def least(self) -> list[float]:
        """The lower ends of the speedups' intervals, in order."""
        return sorted(answer.least_speedup for answer in self.answers)

    def winning(self, p: float) -> int:
        """Return the number of attempts that count at p, as `Solved.wins` decides."""
        return self.correct if p <= 0 else len(self.least) - bisect_right(self.least, p)


class Interval(NamedTuple):
    low: float
    high: float


class Share(NamedTuple):
    """An estimated share or chance, with its 95 % interval."""

    value: float
    interval: Interval


def at_least_one(total: int, correct: int, k: int) -> float:
    """Return the chance that k of `total` attempts, drawn without replacement, contain a correct attempt."""
    if not 1 <= k <= total:
        raise ValueError(f"k: {k} is not from 1 to the {total} attempts")
    return 1 - math.comb(total - correct, k) / math.comb(total, k)


def fast_at(problems: Sequence[Attempts], p: float, k: int) -> Share:
    """Return fast_p@k over problems with at least k attempts each; with p = 0 it is pass@k."""
    chances = [at_least_one(one.total, one.winning(p), k) for one in problems]
    if len(problems) > 1:
        return share(fmean(chances), len(problems))
    [one] = problems
    low, high = (1 - (1 - end) ** k for end in wilson(one.winning(p) / one.total, one.total))
    return Share(chances[0], Interval(min(low, chances[0]), max(high, chances[0])))


def best_of(problems: Sequence[Attempts], k: int) -> float:
    """Return the expected speedup of the best of k attempts at a problem, at least 1."""
    return geometric_mean(map(_best_of_one(k), problems))


def _best_of_one(k: int) -> Callable[[Attempts], float]:
    def expected(one: Attempts) -> float:
        known = sorted(max(1.0, answer.speedup) for answer in one.answers)
        ordered = [1.0] * (one.total - len(known)) + known
        every = math.comb(one.total, k)
        return math.fsum(math.comb(at, k - 1) / every * speedup for at, speedup in enumerate(ordered))

    return expected


def ks(problems: Sequence[Attempts]) -> list[int]:
    """Return 1, 2, 4, 8 … up to the smallest number of attempts at a problem, and that number."""
    most = min((one.total for one in problems), default=0)
    return sorted({1 << power for power in range(most.bit_length())} | {most}) if most else []


def curve_at(problems: Sequence[Attempts], k: int) -> list[Step]:
    """Return fast_p@k for p from 0 to MOST_P: exact, because it changes only at the end of an interval."""
    ends = {end for one in problems for end in one.least}
    points = [0.0, math.ulp(0.0), *sorted(end for end in ends if 0 < end <= MOST_P)]
    return [Step(p, fast_at(problems, p, k).value) for p in points]


def share(value: float, problems: int) -> Share:
    return Share(value, wilson(value, problems))


def wilson(value: float, total: int) -> Interval:
    """Return Wilson's interval of a share of `total`, which is above zero."""
    centre = (value + Z * Z / (2 * total)) / (1 + Z * Z / total)
    half = Z / (1 + Z * Z / total) * math.sqrt(max(0.0, value * (1 - value)) / total + Z * Z / (4 * total * total))
    return Interval(max(0.0, min(value, centre - half)), min(1.0, max(value, centre + half)))
