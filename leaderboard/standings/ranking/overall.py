"""Pure: the standing over several boards, from the places of each. One line per entrant; three ways to count.

points           25, 18, 15, 12, 10, 8, 6, 4, 2, 1 for the first ten places of a board. Tied entrants share the points
                 of the places that they take together. The interval spans the outcomes of ties: all lost, all won.
geometric mean   of the speedups over the baseline. A board without a kernel, or with a kernel that is slower than the
                 baseline, counts as the baseline itself, 1.0. The interval is the mean's, if each has an interval.
fast_p           the share of boards that are surely faster than p times the baseline: by fast_1, then fast_2, then
                 fast_0. A collection has its standing by fast_p too.

Indistinguishable lines share a rank: by points and fast_p if they are equal, by the geometric mean as on a board, by
the leader and within the noise (ranking.py).

For fast_p an unsolved problem counts as a failure: the denominator is the whole collection. A win counts only if the
lower end of the speedup's interval is above p; a correct answer without a known interval wins at p = 0 alone. The
geometric mean of the speedups stands beside the share, never alone: it ignores failures. The baseline is the kernel
that was measured beside each run (eager). For a comparison with a different baseline, for example torch.compile, both
are ratios to the eager baseline: the ratios are divided, and their intervals add up as independent errors do.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from statistics import fmean
from typing import Final, NamedTuple, Self

from leaderboard.competitions.models import FAST_P, POINTS
from leaderboard.standings.ranking.ranking import Place, Run, Value, rank

POINTS_OF: Final = (25.0, 18.0, 15.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0, 1.0)
MOST_P: Final = 4.0  # end of the curve of fast_p
SHOWN: Final = (0.0, 1.0, 2.0)  # values of p in a table

Boards = Mapping[Hashable, Sequence[Place]]


class Cell(NamedTuple):
    """An entrant on a single board."""

    rank: int
    is_tied: bool
    value: Value
    points: float

    @property
    def speedup(self) -> float:
        return 1 / self.value.ratio


@dataclass(frozen=True)
class OverallLine:
    rank: int  # shared by indistinguishable lines: 1, 1, 3
    is_tied: bool
    entrant_id: int
    score: float  # points, the mean speedup, or fast_1
    low: float | None  # of its interval; None: unknown
    high: float | None
    cells: Mapping[Hashable, Cell]  # of the boards on which it has a kernel
    reached_at: datetime  # time of the last submission that counts

    @property
    def solved(self) -> int:
        return len(self.cells)


def overall(boards: Boards, scoring: str) -> list[OverallLine]:
    """Rank entrants over boards, best first; in a shared rank, the earliest complete entrant comes first."""
    entrants: dict[int, dict[Hashable, Cell]] = defaultdict(dict)
    for board, places in boards.items():
        for place, points in zip(places, _points(places), strict=True):
            entrants[place.value.entrant_id][board] = Cell(place.rank, place.is_tied, place.value, points)
    if scoring == POINTS:
        return _by_points(entrants, boards)
    if scoring == FAST_P:
        shares = {
            entrant: score([Solved.of(cell.value) for cell in cells.values()], len(boards))
            for entrant, cells in entrants.items()
        }
        lines = [_line(entrant, cells, shares[entrant].fast[1], None, None) for entrant, cells in entrants.items()]
        return _shared(lines, lambda line: merit(shares[line.entrant_id]))
    return _by_mean(entrants, boards)


def _points(places: Sequence[Place]) -> list[float]:
    """Return the points of each place: the mean over all places that its group takes together."""
    found: list[float] = []
    for _, same in groupby(places, key=lambda place: place.rank):
        size = len(list(same))
        taken = [_worth(len(found) + at) for at in range(size)]
        found += [fmean(taken)] * size
    return found


def _worth(at: int) -> float:
    return POINTS_OF[at] if at < len(POINTS_OF) else 0.0


def _by_points(entrants: Mapping[int, Mapping[Hashable, Cell]], boards: Boards) -> list[OverallLine]:
    sizes = {board: Counter(place.rank for place in places) for board, places in boards.items()}
    lines = []
    for entrant, cells in entrants.items():
        ends = [(cell.rank - 1, sizes[board][cell.rank]) for board, cell in cells.items()]
        low = math.fsum(_worth(first + size - 1) for first, size in ends)
        high = math.fsum(_worth(first) for first, _ in ends)
        lines.append(_line(entrant, cells, math.fsum(cell.points for cell in cells.values()), low, high))
    return _shared(lines, lambda line: (-round(line.score, 9),))


def _by_mean(entrants: Mapping[int, Mapping[Hashable, Cell]], boards: Boards) -> list[OverallLine]:
    """Rank as on a single board on which every entrant has a run with the mean as its result."""
    lines = {entrant: _mean_line(entrant, cells, len(boards)) for entrant, cells in entrants.items()}
    runs = [
        Run(
            ratio=1 / line.score,
            half_width=line.high / line.score - 1 if line.high is not None else None,
            forgeable=math.fsum(cell.value.forgeable for cell in line.cells.values()) / len(boards),
            submitted_at=line.reached_at,
            submission_id=entrant,
            entrant_id=entrant,
            code="",
        )
        for entrant, line in lines.items()
    ]
    return [replace(lines[place.value.entrant_id], rank=place.rank, is_tied=place.is_tied) for place in rank(runs)]


def _mean_line(entrant: int, cells: Mapping[Hashable, Cell], boards: int) -> OverallLine:
    won = [cell.value for cell in cells.values() if cell.value.ratio < 1]
    mean = math.exp(math.fsum(-math.log(value.ratio) for value in won) / boards)
    widths = [value.half_width for value in won if value.half_width is not None]
    half_width = math.hypot(*widths) / boards if len(widths) == len(won) else None
    low, high = (None, None) if half_width is None else (mean / (1 + half_width), mean * (1 + half_width))
    return _line(entrant, cells, mean, low, high)


def _line(
    entrant: int, cells: Mapping[Hashable, Cell], score: float, low: float | None, high: float | None
) -> OverallLine:
    reached_at = max(cell.value.submitted_at for cell in cells.values())
    return OverallLine(0, False, entrant, score, low, high, cells, reached_at)


def _shared(lines: Sequence[OverallLine], merit: Callable[[OverallLine], tuple[float, ...]]) -> list[OverallLine]:
    """Rank by merit: smaller is better, and equal merit shares a rank."""
    order = sorted(lines, key=lambda line: (merit(line), line.reached_at, line.entrant_id))
    found: list[OverallLine] = []
    for _, same in groupby(order, key=merit):
        group = list(same)
        place = len(found) + 1
        found += [replace(line, rank=place, is_tied=len(group) > 1) for line in group]
    return found


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
