"""Pure: how far more samples help: coverage over k, its two-parameter fit, and serial turns at equal cost.

Coverage at k is the share of problems that at least one of k independent samples solves: pass@k over problems, by the
unbiased estimator of Chen et al. (2021, arXiv:2107.03374, equation 1) in sampling.py.

The fit is the zero-inflated binomial model (Hall 2000, Biometrics 56:1030): a share z of the problems never succeeds,
and a sample of any further problem succeeds with the chance p, so that coverage(k) = (1 − z)(1 − (1 − p)^k). Maximum
likelihood on samples and successes of each problem, by expectation and maximisation. Intervals are of the profile
likelihood: the range of a figure over all (z, p) whose log-likelihood is at most 1.92 below the largest, half the 95 %
quantile of χ² with a degree of freedom. Unlike a bootstrap, they have a width where all problems are solved.

A single sample of each problem cannot tell z from p, and without a success no p is known: then there is no fit.
"""

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, NamedTuple, TypeVar

from leaderboard.standings.ranking.sampling import Interval, Share, share

Problem = TypeVar("Problem", bound=Hashable)

DROP: Final = 1.920729  # in log-likelihood, of a 95 % interval
CELLS: Final = 48  # of a grid over (z, p), each way
ZOOMS: Final = 4
MOST_STEPS: Final = 5_000
EDGE: Final = 1e-9  # p stays this far from 0 and 1


class Tally(NamedTuple):
    """The samples of a problem and their successes."""

    total: int
    correct: int


class Point(NamedTuple):
    never: float
    p: float

    @property
    def ceiling(self) -> float:
        """Coverage for any number of samples."""
        return 1 - self.never

    def coverage(self, k: float) -> float:
        return (1 - self.never) * (1 - math.pow(1 - self.p, k))


@dataclass(frozen=True)
class Fit:
    best: Point
    region: Sequence[Point]  # of all that the data do not rule out

    @property
    def never(self) -> Share:
        return self._share(self.best.never, [point.never for point in self.region])

    @property
    def p(self) -> Share:
        return self._share(self.best.p, [point.p for point in self.region])

    def coverage(self, k: float) -> Share:
        return self._share(self.best.coverage(k), [point.coverage(k) for point in self.region])

    @staticmethod
    def _share(value: float, among: Sequence[float]) -> Share:
        return Share(value, Interval(min(value, *among), max(value, *among)))


def fit(problems: Sequence[Tally]) -> Fit | None:
    """Return the fit over problems; None: they cannot tell z from p. A single problem is assumed to succeed, z = 0."""
    solved = [one for one in problems if one.correct]
    if not solved or max(one.total for one in problems) < 2:
        return None
    found = _Likelihood(
        solved=len(solved),
        correct=sum(one.correct for one in solved),
        wrong=sum(one.total - one.correct for one in solved),
        failed=Counter(one.total for one in problems if not one.correct),
    )
    best = found.best()
    return Fit(best, found.region(best, is_single=len(problems) == 1))


@dataclass(frozen=True)
class _Likelihood:
    """The likelihood of (z, p), by the figures that it depends on."""

    solved: int  # problems
    correct: int  # samples of these
    wrong: int  # samples of these
    failed: Mapping[int, int]  # problems without a success, by their number of samples

    def at(self, point: Point) -> float:
        p = min(max(point.p, EDGE), 1 - EDGE)
        never = min(point.never, 1 - EDGE)
        found = self.solved * math.log1p(-never) + self.correct * math.log(p) + self.wrong * math.log1p(-p)
        for total, problems in self.failed.items():
            found += problems * math.log(max(never + (1 - never) * (1 - p) ** total, 1e-300))
        return found

    def best(self) -> Point:
        """Maximise by turns: the chance that a failed problem never succeeds, then z and p by these chances."""
        problems = self.solved + sum(self.failed.values())
        point = Point(sum(self.failed.values()) / problems / 2, self.correct / (self.correct + self.wrong))
        for _ in range(MOST_STEPS):
            never, wrong = 0.0, float(self.wrong)
            for total, count in self.failed.items():
                silent = (1 - point.never) * (1 - point.p) ** total
                chance = point.never / (point.never + silent) if point.never else 0.0
                never += count * chance
                wrong += count * (1 - chance) * total
            following = Point(never / problems, self.correct / (self.correct + wrong))
            if max(abs(one - two) for one, two in zip(point, following, strict=True)) < 1e-10:
                return following
            point = following
        return point

    def region(self, best: Point, *, is_single: bool) -> list[Point]:
        """Return the points of a grid that the data do not rule out. The grid closes in on them."""
        least, found = self.at(best) - DROP, [best]
        box = ((0.0, 0.0 if is_single else 1.0), (0.0, 1.0))
        for _ in range(ZOOMS):
            steps = [(high - low) / CELLS for low, high in box]
            grid = [
                [low + step * place for place in range(CELLS + 1)] for (low, _), step in zip(box, steps, strict=True)
            ]
            points = {Point(never, p) for never in {*grid[0], best.never} for p in {*grid[1], best.p}}
            found = [point for point in points if self.at(point) >= least] or [best]
            z, p = (
                (max(old[0], min(axis) - step), min(old[1], max(axis) + step))
                for old, axis, step in zip(box, zip(*found, strict=True), steps, strict=True)
            )
            box = z, p
        return found


class Turn(NamedTuple):
    """A submission of a chain: whether it solves the problem, with the spending on it."""

    wins: bool
    seconds: float = 0.0  # of devices
    cost_usd: float | None = None  # as its sender says; None: unknown


class AtTurn(NamedTuple):
    """Serial work after some turns, as the mean over problems."""

    turn: int
    share: Share
    samples: float  # spent on a chain; a chain ends early at a success, or when its sender stops it
    seconds: float
    cost_usd: float | None  # None: unknown for some turn


def serial(chains: Mapping[Problem, Sequence[Sequence[Turn]]], most: int) -> list[AtTurn]:
    """Return the share of problems that a chain has solved after 1, 2, 3 … turns, with the mean spending on a chain.

    `most`: turns that are looked at.
    """
    ended = {problem: [_until_success(chain) for chain in same] for problem, same in chains.items() if same}
    longest = max((len(chain) for same in ended.values() for chain in same), default=0)
    return [_after(ended, turn) for turn in range(1, min(longest, most) + 1)]


def _until_success(chain: Sequence[Turn]) -> Sequence[Turn]:
    return chain[: next((place for place, turn in enumerate(chain, 1) if turn.wins), len(chain))]


def _after(chains: Mapping[Problem, Sequence[Sequence[Turn]]], turn: int) -> AtTurn:
    begun = {problem: [chain[:turn] for chain in same] for problem, same in chains.items()}
    solved = fmean(fmean(any(one.wins for one in chain) for chain in same) for same in begun.values())
    flat = [one for same in begun.values() for chain in same for one in chain]
    known = all(one.cost_usd is not None for one in flat)

    def mean(spent: Mapping[Problem, Sequence[float]]) -> float:
        return fmean(fmean(of) for of in spent.values())

    return AtTurn(
        turn=turn,
        share=share(solved, len(begun)),
        samples=mean({problem: [len(chain) for chain in same] for problem, same in begun.items()}),
        seconds=mean(
            {problem: [sum(one.seconds for one in chain) for chain in same] for problem, same in begun.items()}
        ),
        cost_usd=mean(
            {problem: [sum(one.cost_usd or 0 for one in chain) for chain in same] for problem, same in begun.items()}
        )
        if known
        else None,
    )
