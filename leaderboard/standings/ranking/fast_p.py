"""Pure: `fast_p`, the share of a collection's problems that an entrant solves correctly and more than p times as fast
as the baseline.

A problem that was not solved counts as one that was not won: the denominator is the whole collection. A win counts
only where the lower end of the speedup's interval is above p, and a correct answer whose interval is not known wins at
p = 0 alone. The geometric mean of the speedups stands beside the share, never alone: it knows nothing of failures.

The baseline is what each run was measured beside (eager). Against another, such as torch.compile, both are ratios to
that same baseline, so one is divided by the other, and their intervals add up as independent errors do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, NamedTuple

MOST_P: Final = 4.0  # where the curve ends
SHOWN: Final = (0.0, 1.0, 2.0)  # the p of a table


class Solved(NamedTuple):
    """A correct answer to a problem. `ratio`: its time over the baseline's; `half_width`: relative, 95 %; None where it
    is not known. `forgeable`: the share of the time by which it could be forged at most."""

    ratio: float
    half_width: float | None
    forgeable: float = 0.0

    @property
    def speedup(self) -> float:
        return 1 / self.ratio

    @property
    def least_speedup(self) -> float:
        """The lower end of its interval; 0 where there is none. A time that could be forged counts as if it were."""
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
    """The curve has `share` from `p` until the next step's p."""

    p: float
    share: float


@dataclass(frozen=True)
class Score:
    """What an entrant has of a set of problems."""

    problems: int
    solved: int
    fast: tuple[float, ...]  # at each p of SHOWN
    geometric_mean: float | None  # of the speedups of those that are solved

    @property
    def typical_ratio(self) -> float | None:
        """The mean as pages take it: time over the baseline's."""
        return 1 / self.geometric_mean if self.geometric_mean else None


@dataclass(frozen=True)
class Standing:
    """An entrant in the whole collection."""

    rank: int  # shared by those with the same shares
    entrant: str
    score: Score
    answers: Mapping[str, Solved]  # by problem
    problems: Mapping[str, int]  # that there are, with their levels

    @property
    def levels(self) -> tuple[tuple[int, Score], ...]:
        """The same by level, in their order."""
        return _by_level(self.answers, self.problems)

    @property
    def curve(self) -> tuple[Step, ...]:
        return tuple(curve(list(self.answers.values()), len(self.problems)))


def standings(solved: Mapping[str, Mapping[str, Solved]], levels: Mapping[str, int]) -> list[Standing]:
    """Entrant → problem → answer, over the problems of `levels`; best first: by fast_1, then fast_2, then fast_0.

    Answers to other problems are not looked at.
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
    """The share of `problems`; 0 where there are none."""
    return sum(answer.wins(p) for answer in answers) / problems if problems else 0.0


def curve(answers: Sequence[Solved], problems: int) -> list[Step]:
    """The whole of it for p from 0 to MOST_P: exact, since it only changes where an interval ends."""
    ends = sorted({answer.least_speedup for answer in answers if 0 < answer.least_speedup <= MOST_P})
    steps = [Step(0.0, fast(answers, problems, 0.0))]
    just_above = fast(answers, problems, math.ulp(0.0))
    if just_above != steps[0].share:
        steps.append(Step(math.ulp(0.0), just_above))
    return steps + [Step(p, fast(answers, problems, p)) for p in ends]


def relative(answers: Mapping[str, Solved], baseline: Mapping[str, Solved]) -> dict[str, Solved]:
    """The answers against another baseline, on the problems that it has a time for; the others are left as failures."""
    return {problem: answer.against(baseline[problem]) for problem, answer in answers.items() if problem in baseline}


def merit(score: Score) -> tuple[float, ...]:
    """Smaller is better."""
    at_0, at_1, at_2 = score.fast
    return -at_1, -at_2, -at_0


def _by_level(answers: Mapping[str, Solved], levels: Mapping[str, int]) -> tuple[tuple[int, Score], ...]:
    return tuple(
        (
            level,
            score(
                [answer for problem, answer in answers.items() if levels[problem] == level],
                sum(1 for other in levels.values() if other == level),
            ),
        )
        for level in sorted(set(levels.values()))
    )
