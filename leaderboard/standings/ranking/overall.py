"""Pure: the standing over several boards, from the places of each. One line per entrant; three ways to count.

points           25, 18, 15, 12, 10, 8, 6, 4, 2, 1 for the first ten places of a board. Tied entrants share the points
                 of the places that they take together. The interval spans the outcomes of ties: all lost, all won.
geometric mean   of the speedups over the baseline. A board without a kernel, or with a kernel that is slower than the
                 baseline, counts as the baseline itself, 1.0. The interval is the mean's, if each has an interval.
fast_p           the share of boards that are surely faster than p times the baseline (fast_p.py): by fast_1, then
                 fast_2, then fast_0.

Indistinguishable lines share a rank: by points and fast_p if they are equal, by the geometric mean as on a board, by
the leader and within the noise (ranking.py).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from statistics import fmean
from typing import Final, NamedTuple

from leaderboard.competitions.models import FAST_P, POINTS
from leaderboard.standings.ranking import fast_p
from leaderboard.standings.ranking.fast_p import Solved
from leaderboard.standings.ranking.ranking import Place, Run, Value, rank

POINTS_OF: Final = (25.0, 18.0, 15.0, 12.0, 10.0, 8.0, 6.0, 4.0, 2.0, 1.0)

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
        return _by_fast_p(entrants, boards)
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


def _by_fast_p(entrants: Mapping[int, Mapping[Hashable, Cell]], boards: Boards) -> list[OverallLine]:
    shares = {
        entrant: fast_p.score([Solved.of(cell.value) for cell in cells.values()], len(boards))
        for entrant, cells in entrants.items()
    }
    lines = [_line(entrant, cells, shares[entrant].fast[1], None, None) for entrant, cells in entrants.items()]
    return _shared(lines, lambda line: fast_p.merit(shares[line.entrant_id]))


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
