"""The front of a board: its fastest lines, read from the fastest run on, and no further than somebody asks.

A report asks who leads. That costs as much as there are lines in front, however many there are behind.
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

AT_FIRST: Final = 16  # runs that the first query looks at; each further one at twice as many


def front(entries: QuerySet[Entry]) -> Iterator[Sequence[Value]]:
    """The values of each entrant, best first; entrants in the order of their best. `entries`: of one board and epoch.

    A value is the mean of its runs, so no entrant has a value faster than their fastest run: whoever has no run among
    those that were looked at is behind all that are faster than the last of these.
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
    """The places that share the first rank; empty where there is no line. `level`: as for `rank`."""
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
    """Where the last line stands that a confirmation could not tell apart from the leader's."""
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
