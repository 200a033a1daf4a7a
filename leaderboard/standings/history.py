"""Pure: who stood first on a board from when on, by time of submission, as far as it is published now.

What was retracted or rejected since was never there, and what was cleared late stood from when it was sent. At every
moment it is exactly what ranking.py would have said of the runs until then; kept up run by run instead of ranked anew.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from leaderboard.standings.ranking import Run, Value, held_since, order, reach, value_of


@dataclass(frozen=True)
class Record:
    """A kernel that came to stand first."""

    value: Value  # as it was at that moment
    since: datetime
    until: datetime | None  # None: it does still
    gain: float | None  # how many times as fast as the one before; below 1 where an earlier one stands first in a tie


def records(runs: Iterable[Run], level: Iterable[tuple[int, int]] = ()) -> list[Record]:
    """The oldest first. `level`: as for `rank`."""
    board = _Board(frozenset(map(frozenset, level)))
    found: list[tuple[Value, datetime]] = []
    for run in sorted(runs, key=lambda run: (run.submitted_at, run.submission_id)):
        board.add(run)
        first = board.first()
        if not found or found[-1][0].submissions[0] != first.submissions[0]:
            found.append((first, run.submitted_at))
    if not found:
        return []
    ends = [moment for _, moment in found[1:]]
    before = [value for value, _ in found]
    return [
        Record(value, moment, until, gain=before[at - 1].ratio / value.ratio if at else None)
        for at, ((value, moment), until) in enumerate(zip(found, [*ends, None], strict=True))
    ]


class _Board:
    def __init__(self, level: frozenset[frozenset[int]]) -> None:
        self._level = level
        self._runs: dict[tuple[int, str], list[Run]] = defaultdict(list)
        self._kernels: dict[int, dict[str, Value]] = defaultdict(dict)  # by entrant
        self._lines: list[Value] = []  # the best of each entrant, fastest first

    def add(self, run: Run) -> None:
        """Runs come in the order in which they were sent."""
        own = self._kernels[run.entrant_id]
        if own:
            del self._lines[bisect_left(self._lines, order(min(own.values(), key=order)), key=order)]
        same = self._runs[run.entrant_id, run.code]
        same.append(run)
        own[run.code] = value_of(same)
        insort(self._lines, min(own.values(), key=order), key=order)

    def first(self) -> Value:
        leader = self._lines[0]
        group = self._lines[: reach(leader, self._lines, 0, self._level)]
        return min(
            group, key=lambda line: held_since(leader, sorted(self._kernels[line.entrant_id].values(), key=order))
        )
