"""Pure: the order of a board and the times it shows.

A run is compared only with the baseline that was timed beside it, so lines are ordered by that ratio. The microseconds
that a report tells are on the scale of its own run, and two runs' scales differ; a board therefore shows every ratio on
one scale, and order and times always agree. One line an owner, the best; of equals, the one that was submitted earlier.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from statistics import median
from typing import NamedTuple


class Line(NamedTuple):
    """In the order in which lines compare."""

    ratio: float  # candidate / baseline of the same run
    submitted_at: datetime
    submission_id: int  # two in one microsecond still have an order
    owner_id: int


def rank(lines: Iterable[Line]) -> list[Line]:
    """Best first: the first has rank 1, the next 2, … There are no ties, since the time of submission breaks them."""
    best: dict[int, Line] = {}
    for line in sorted(lines):
        best.setdefault(line.owner_id, line)
    return list(best.values())


def scale_us(scored: Iterable[tuple[float, float]]) -> float:
    """The microseconds of ratio 1 on a board: the median baseline over its (score_us, ratio); there is at least one."""
    return median(score_us / ratio for score_us, ratio in scored)
