"""The standing over a competition's boards, from the shown lines of each board, counted by overall.py.

It covers one stage, each board in its own current epoch, as far as the public sees it (windows.py) unless `in_full`.
The number of queries is fixed for any number of boards and lines.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from threading import Lock
from typing import Final

from leaderboard.competitions.calendar import Stage, current_stage
from leaderboard.competitions.models import Board, Competition
from leaderboard.entrants.models import Entrant
from leaderboard.standings.ranking.overall import Cell, OverallLine, overall
from leaderboard.standings.ranking.ranking import Place
from leaderboard.standings.read.boards import looks
from leaderboard.standings.read.table import Table

KEPT: Final = 32  # standings in memory


@dataclass(frozen=True)
class Row:
    line: OverallLine
    entrant: Entrant
    cells: tuple[Cell | None, ...]  # per board, in the order of boards


@dataclass(frozen=True)
class Overall:
    scoring: str
    stage: Stage
    boards: tuple[Board, ...]
    lines: tuple[OverallLine, ...]

    def rows(self, start: int = 0, most: int | None = None) -> list[Row]:
        """Return some of the lines, with their entrants: one query."""
        lines = self.lines[start : None if most is None else start + most]
        who = Entrant.objects.in_bulk([line.entrant_id for line in lines])
        return [
            Row(line, who[line.entrant_id], tuple(line.cells.get(board.pk) for board in self.boards)) for line in lines
        ]


def overall_standing(
    competition: Competition,
    *,
    boards: Sequence[Board],
    now: datetime,
    scoring: str = "",
    stage: Stage | None = None,
    in_full: bool = False,
) -> Overall:
    """Return the standing over these of its boards: all visible boards, those of a hardware, or those with a tag."""
    stage = stage or current_stage(competition.schedule, now)
    seen = looks(boards, now=now, stage=stage, in_full=in_full)
    scoring = scoring or competition.scoring
    tables = {board.pk: seen[board.pk].current for board in boards}
    return Overall(scoring, stage, tuple(boards), _counted(tables, scoring))


def _counted(tables: Mapping[int, Table], scoring: str) -> tuple[OverallLine, ...]:
    """Count again only if a table has changed since the last time: table.py keeps unchanged tables."""
    key = (scoring, tuple(tables))
    with _lock:
        kept = _kept.get(key)
    if kept is not None and all(old is new for old, new in zip(kept[0], tables.values(), strict=True)):
        return kept[1]
    places: dict[Hashable, Sequence[Place]] = {board: table.places for board, table in tables.items()}
    lines = tuple(overall(places, scoring))
    with _lock:
        _kept.pop(key, None)
        _kept[key] = (tuple(tables.values()), lines)
        while len(_kept) > KEPT:
            del _kept[next(iter(_kept))]
    return lines


_lock: Final = Lock()
_kept: Final[dict[tuple[str, tuple[int, ...]], tuple[tuple[Table, ...], tuple[OverallLine, ...]]]] = {}
