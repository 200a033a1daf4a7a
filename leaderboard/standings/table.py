"""Rankings as figures alone, from narrow rows: names are read for what is shown, and not here.

A board's tables are kept in this process until its revision changes. That is a row which the database itself renews,
by trigger, in every transaction that touches a line of the board: so it is right with any number of processes, and
whoever writes. Confirmations, which can tie two lines, are looked at each time. Three queries at most, however many
boards and lines there are.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from threading import Lock
from typing import Any, Final
from uuid import UUID

from django.db.models import BigIntegerField
from django.db.models.functions import Cast, Extract

from leaderboard.competitions.calendar import Window
from leaderboard.standings.level import Pair, level_pairs
from leaderboard.standings.models import Entry, Revision
from leaderboard.standings.ranking import Place, Run, rank, scale_us
from leaderboard.standings.windows import inside_each

COLUMNS: Final = ("ratio", "half_width", "forgeable", "submitted_at", "submission_id", "entrant_id", "code_digest")
# Whole microseconds, made into moments here: the driver's reading of ten thousand times takes as long as ranking them.
SENT_US: Final = Cast(Extract("submitted_at", "epoch") * 1_000_000, BigIntegerField())
SENT: Final = COLUMNS.index("submitted_at")
NARROW: Final = tuple("sent_us" if column == "submitted_at" else column for column in COLUMNS)
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
KEPT_LINES: Final = 200_000  # in memory, of all boards together; some 100 MB


@dataclass(frozen=True)
class Table:
    """Of one board, stage and epoch."""

    places: tuple[Place, ...]
    scale_us: float  # of ratio 1; 0 where there is no line
    telemetry: Mapping[int, str]  # by a value's first submission: the least that was watched in any of its runs
    runs: int


NO_LINES: Final = Table((), 0.0, {}, 0)
Tables = Mapping[str, Table]  # by epoch; only those that have lines
State = tuple[UUID, Sequence[Pair]]  # what else of a board can change its tables
Wanted = Mapping[int, Window]  # board → which of its lines


def read(wanted: Wanted) -> dict[int, Tables]:
    """Every board that was asked for."""
    revisions = dict(Revision.objects.filter(board__in=list(wanted)).values_list("board", "token"))
    found: dict[int, Tables] = {board: {} for board in wanted if board not in revisions}  # never had a line
    level = level_pairs(revisions) if revisions else {}
    states = {board: (token, level.get(board, ())) for board, token in revisions.items()}
    missing: dict[int, Window] = {}
    for board, state in states.items():
        kept = _shelf.get(board, wanted[board], state)
        if kept is None:
            missing[board] = wanted[board]
        else:
            found[board] = kept
    for board, tables in _ranked(missing, level).items():
        _shelf.put(board, wanted[board], states[board], tables)
        found[board] = tables
    return found


def run_of(entry: Entry) -> Run:
    """What ranking.py takes of a line."""
    return Run(*(getattr(entry, column) for column in COLUMNS))


def _ranked(wanted: Wanted, level: Mapping[int, Sequence[Pair]]) -> dict[int, Tables]:
    if not wanted:
        return {}
    rows: dict[tuple[int, str], list[tuple[Any, ...]]] = defaultdict(list)
    columns = ("board_id", "epoch", *NARROW, "score_us", "telemetry")
    lines = Entry.objects.filter(inside_each(wanted)).order_by().annotate(sent_us=SENT_US)
    for board, epoch, *row in lines.values_list(*columns):
        row[SENT] = LONG_AGO + timedelta(microseconds=row[SENT])
        rows[board, epoch].append(tuple(row))
    tables: dict[int, dict[str, Table]] = {board: {} for board in wanted}
    for (board, epoch), same in rows.items():
        tables[board][epoch] = _table(same, level.get(board, ()))
    return dict(tables)


def _table(rows: Sequence[tuple[Any, ...]], level: Sequence[Pair]) -> Table:
    places = tuple(rank((Run(*row[: len(COLUMNS)]) for row in rows), level))
    watched = {row[4]: row[-1] for row in rows}
    return Table(
        places=places,
        scale_us=scale_us((row[-2], row[0]) for row in rows),
        telemetry={place.value.submissions[0]: _least(watched, place.value.submissions) for place in places},
        runs=len(rows),
    )


def _least(watched: Mapping[int, str], submissions: Iterable[int]) -> str:
    levels = {watched[pk] for pk in submissions}
    return next(level for level in ("", "none", "mask_only", "full") if level in levels)


class _Shelf:
    """Tables by board and window with the revision that they are of; those not asked for longest go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, Window], tuple[State, Tables]] = OrderedDict()
        self._lines = 0
        self._lock = Lock()

    def get(self, board: int, window: Window, state: State) -> Tables | None:
        with self._lock:
            kept = self._kept.get((board, window))
            if kept is None or kept[0] != state:
                return None
            self._kept.move_to_end((board, window))
            return kept[1]

    def put(self, board: int, window: Window, state: State, tables: Tables) -> None:
        with self._lock:
            _, old = self._kept.pop((board, window), (None, {}))
            self._kept[board, window] = (state, tables)
            self._lines += _runs(tables) - _runs(old)
            while self._lines > KEPT_LINES and len(self._kept) > 1:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._lines -= _runs(dropped)


def _runs(tables: Tables) -> int:
    return sum(table.runs for table in tables.values())


_shelf: Final = _Shelf()
