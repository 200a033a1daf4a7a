"""Pure: the order of a board. One line an owner, the best; of equals, the one that was submitted earlier."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple


class Line(NamedTuple):
    """In the order in which lines compare."""

    score_us: float
    submitted_at: datetime
    submission_id: int  # two in one microsecond still have an order
    owner_id: int


def rank(lines: Iterable[Line]) -> list[Line]:
    """Best first: the first has rank 1, the next 2, … There are no ties, since the time of submission breaks them."""
    best: dict[int, Line] = {}
    for line in sorted(lines):
        best.setdefault(line.owner_id, line)
    return list(best.values())
