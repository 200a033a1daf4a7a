"""Pure: `fast_p`, the share of a collection's problems that an entrant solves correctly and more than p times as fast
as the baseline.

An unsolved problem counts as a failure: the denominator is the whole collection. A win counts only if the lower end of
the speedup's interval is above p; a correct answer without a known interval wins at p = 0 alone. The geometric mean of
the speedups stands beside the share, never alone: it ignores failures.

The baseline is the kernel that was measured beside each run (eager). For a comparison with a different baseline, for
example torch.compile, both are ratios to the eager baseline: the ratios are divided, and their intervals add up as
independent errors do.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, NamedTuple, Self

from leaderboard.standings.ranking.ranking import Value

MOST_P: Final = 4.0  # end of the curve
SHOWN: Final = (0.0, 1.0, 2.0)  # values of p in a table


class Solved(NamedTuple):
    """A correct answer to a problem. `ratio`: its time over the baseline's.

    `half_width`: relative, 95 %; None: unknown. `forgeable`: upper bound on the share of the time that could be forged.
    """

    ratio: float
    half_width: float | None
    forgeable: float = 0.0

    @classmethod
    def of(cls, value: Value) -> Self:
        return cls(value.ratio, value.half_width, value.forgeable)

    @property
    def speedup(self) -> float:
        return 1 / self.ratio

    @property
    def least_speedup(self) -> float:
        """The lower end of the speedup's interval; 0 without an interval.

        Time that could be forged counts as forged.
        """
        if self.half_width is None:
            return 0.0
        return self.speedup * max(1 - self.forgeable, 0.0) / (1 + self.half_width)

    def wins(self, p: float) -> bool:
        return p <= 0 or self.least_speedup > p

    def against(self, other: Solved) -> Solved:
        widths = (self.half_width, other.half_width)
        known = [width for width in widths if width is not None]
        return Solved(
            ratio=self.ratio / other.ratio,
            half_width=math.hypot(*known) if len(known) == len(widths) else None,
            forgeable=max(self.forgeable, other.forgeable),
        )


class Step(NamedTuple):
    """A step of the curve: `share` holds from `p` until the next step's p."""

    p: float
    share: float


@dataclass(frozen=True)
class Score:
    """An entrant's score in a set of problems."""

    problems: int
    solved: int
    fast: tuple[float, ...]  # at each p of SHOWN
    geometric_mean: float | None  # of the speedups of solved problems

    @property
    def typical_ratio(self) -> float | None:
        """The geometric mean in the form of the pages: time over the baseline's."""
        return 1 / self.geometric_mean if self.geometric_mean else None


@dataclass(frozen=True)
class Standing:
    """An entrant in the whole collection."""

    rank: int  # entrants with the same shares share it
    entrant: str
    score: Score
    answers: Mapping[str, Solved]  # by problem
    problems: Mapping[str, int]  # all problems, with their levels

    @property
    def levels(self) -> tuple[tuple[int, Score], ...]:
        """The score per level, in the order of levels."""
        by_level: dict[int, list[str]] = defaultdict(list)
        for problem, level in self.problems.items():
            by_level[level].append(problem)
        return tuple(
            (level, score([self.answers[name] for name in names if name in self.answers], len(names)))
            for level, names in sorted(by_level.items())
        )

    @property
    def curve(self) -> tuple[Step, ...]:
        return tuple(curve(list(self.answers.values()), len(self.problems)))


def standings(solved: Mapping[str, Mapping[str, Solved]], levels: Mapping[str, int]) -> list[Standing]:
    """Rank entrants over the problems of `levels`, best first: by fast_1, then fast_2, then fast_0.

    `solved`: entrant → problem → answer. Answers to problems outside `levels` are ignored.
    """
    scored = {
        entrant: {problem: answer for problem, answer in answers.items() if problem in levels}
        for entrant, answers in solved.items()
    }
    scores = {entrant: score(answers.values(), len(levels)) for entrant, answers in scored.items()}
    merits = {entrant: merit(own) for entrant, own in scores.items()}
    order = sorted(scores, key=lambda entrant: (merits[entrant], entrant))
    ranks: dict[tuple[float, ...], int] = {}
    for place, entrant in enumerate(order, start=1):
        ranks.setdefault(merits[entrant], place)
    return [Standing(ranks[merits[entrant]], entrant, scores[entrant], scored[entrant], levels) for entrant in order]


def score(answers: Iterable[Solved], problems: int) -> Score:
    listed = list(answers)
    return Score(
        problems=problems,
        solved=len(listed),
        fast=tuple(fast(listed, problems, p) for p in SHOWN),
        geometric_mean=math.exp(fmean(-math.log(answer.ratio) for answer in listed)) if listed else None,
    )


def fast(answers: Sequence[Solved], problems: int, p: float) -> float:
    """Return the share of `problems` won at p; 0 without problems."""
    return sum(answer.wins(p) for answer in answers) / problems if problems else 0.0


def curve(answers: Sequence[Solved], problems: int) -> list[Step]:
    """Return the curve for p from 0 to MOST_P: exact, because it changes only at the end of an interval."""
    ends = sorted({answer.least_speedup for answer in answers if 0 < answer.least_speedup <= MOST_P})
    steps = [Step(0.0, fast(answers, problems, 0.0))]
    just_above = fast(answers, problems, math.ulp(0.0))
    if just_above != steps[0].share:
        steps.append(Step(math.ulp(0.0), just_above))
    return steps + [Step(p, fast(answers, problems, p)) for p in ends]


def relative(answers: Mapping[str, Solved], baseline: Mapping[str, Solved]) -> dict[str, Solved]:
    """Return the answers against a second baseline, on problems for which it has a time; the rest count as failures."""
    return {problem: answer.against(baseline[problem]) for problem, answer in answers.items() if problem in baseline}


def merit(score: Score) -> tuple[float, ...]:
    """Return a sort key of a score; smaller is better."""
    at_0, at_1, at_2 = score.fast
    return -at_1, -at_2, -at_0
