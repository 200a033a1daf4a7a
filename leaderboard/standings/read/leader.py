"""The front of a board: its fastest lines, read from the fastest run on, only as far as a caller iterates.

A report asks for the leader. The cost depends on the number of lines in front, not on the number behind.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from math import inf
from typing import Final

from django.db.models import QuerySet

from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.ranking import Place, Run, Value, are_tied, group_at, order, pairs_of, pool
from leaderboard.standings.read.table import COLUMNS

AT_FIRST: Final = 16  # runs in the first query; each further query takes twice as many


def front(entries: QuerySet[Entry]) -> Iterator[Sequence[Value]]:
    """Yield the values of each entrant, best first, in the order of entrants' best.

    `entries`: of a single board and epoch. A value is the mean of its runs, so no entrant has a value faster than their
    fastest run: an entrant without a run among the rows read is behind every value that is faster than the last of
    these rows.
    """
    waiting: list[tuple[tuple[object, ...], Sequence[Value]]] = []
    seen: set[int] = set()
    size, floor = AT_FIRST, 0.0
    while floor < inf:
        unseen = entries.exclude(entrant__in=seen).order_by("ratio", "pk").values_list("ratio", "entrant")
        rows = list(unseen[:size])
        floor = rows[-1][0] if len(rows) == size else inf
        fresh = {entrant for _, entrant in rows}
        for own in _values_of(entries, fresh):
            heappush(waiting, (order(own[0]), own))
        while waiting and waiting[0][1][0].ratio < floor:
            yield heappop(waiting)[1]
        seen |= fresh
        size *= 2


def leading_places(entries: QuerySet[Entry], level: Sequence[tuple[int, int]]) -> list[Place]:
    """Return the places that share the first rank; empty without lines. `level`: as for `rank`."""
    same = pairs_of(level)
    own: dict[int, Sequence[Value]] = {}
    lines: list[Value] = []
    last: tuple[object, ...] = ()
    for values in front(entries):
        line = values[0]
        if not lines:
            last = _last_level(entries, line, level)
        elif order(line) > last and not are_tied(lines[0], line):
            break
        own[line.entrant_id] = values
        lines.append(line)
    return group_at(lines, 0, own, same) if lines else []


def _last_level(entries: QuerySet[Entry], leader: Value, level: Sequence[tuple[int, int]]) -> tuple[object, ...]:
    """Return the order of the last line that a confirmation could not distinguish from the leader's."""
    level_with = {pk for pair in level if set(pair) & set(leader.submissions) for pk in pair}
    if not level_with:
        return order(leader)
    entrants = set(entries.filter(submission__in=level_with).order_by().values_list("entrant", flat=True))
    lines = [values[0] for values in _values_of(entries, entrants)]
    return max(order(line) for line in [leader, *lines] if line is leader or level_with & set(line.submissions))


def _values_of(entries: QuerySet[Entry], entrants: set[int]) -> list[list[Value]]:
    runs: dict[int, list[Run]] = defaultdict(list)
    for row in entries.filter(entrant__in=entrants).order_by().values_list(*COLUMNS) if entrants else ():
        run = Run(*row)
        runs[run.entrant_id].append(run)
    return [pool(own) for own in runs.values()]
