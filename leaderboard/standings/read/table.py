"""Rankings as figures alone, from narrow rows: names are read for what is shown, and not here.

A board's tables are kept in this process until its revision changes. That is a row which the database itself renews,
by trigger, in every transaction that touches a line of the board: so it is right with any number of processes, and
whoever writes. The trigger also says which lines those were (Change), so that the first look after a change reads
these alone and ranks what they move; all of a board is read where too many are not known or nothing is kept.
Confirmations, which can tie two lines, are looked at each time. Four queries at most, however many boards and lines.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from threading import Lock
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db.models import BigIntegerField, OuterRef, Q, Subquery
from django.db.models.functions import Cast, Extract

from leaderboard.competitions.calendar import Window
from leaderboard.standings.models import Change, Entry, Revision
from leaderboard.standings.ranking.field import Field
from leaderboard.standings.ranking.history import Record, records
from leaderboard.standings.ranking.level import Pair, level_pairs
from leaderboard.standings.ranking.ranking import Place, Run, Value, mean_time_us
from leaderboard.standings.read.windows import inside_each

COLUMNS: Final = ("ratio", "half_width", "forgeable", "submitted_at", "submission_id", "entrant_id", "code_digest")
TOLD: Final = ("score_us", "telemetry")  # what a table tells beside the ranking
# Whole microseconds, made into moments here: the driver's reading of ten thousand times takes as long as ranking them.
SENT_US: Final = Cast(Extract("submitted_at", "epoch") * 1_000_000, BigIntegerField())
SENT: Final = COLUMNS.index("submitted_at")
NARROW: Final = tuple("sent_us" if column == "submitted_at" else column for column in COLUMNS)
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
KEPT_LINES: Final = 200_000  # in memory, of all boards together; some 200 MB


@dataclass(frozen=True)
class Table:
    """Of one board, stage and epoch."""

    places: tuple[Place, ...]
    times_us: Mapping[int, float]  # the measured time of a submission's run
    watched: Mapping[int, str]  # how a submission's run was
    runs: Mapping[int, Run]  # by submission
    level: Sequence[Pair]

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """Who stood first from when on; found once, when somebody asks."""
        return tuple(records(self.runs.values(), self.level))

    def time_us(self, value: Value) -> float:
        """The measured time of a kernel, over its own runs."""
        return mean_time_us([self.times_us[pk] for pk in value.submissions])

    def telemetry(self, value: Value) -> str:
        """The least that was watched in any of its runs."""
        levels = {self.watched[pk] for pk in value.submissions}
        return next(level for level in ("", "none", "mask_only", "full") if level in levels)


NO_LINES: Final = Table((), {}, {}, {}, ())
Tables = Mapping[str, Table]  # by epoch; only those that have lines
Wanted = Mapping[int, Window]  # board → which of its lines


class State(NamedTuple):
    """Of a board's lines: what its revision is, and the newest change that is known to be part of it."""

    token: UUID
    change: int | None


class _Line(NamedTuple):
    run: Run
    time_us: float
    telemetry: str


class _Lines:
    """Of one epoch. Whoever changes it has a copy that nobody else knows."""

    def __init__(self, lines: Iterable[_Line]) -> None:
        listed = list(lines)
        self.field = Field(line.run for line in listed)
        self._times_us = {line.run.submission_id: line.time_us for line in listed}
        self._watched = {line.run.submission_id: line.telemetry for line in listed}

    def copy(self) -> _Lines:
        same = _Lines(())
        same.field = self.field.copy()
        same._times_us, same._watched = self._times_us.copy(), self._watched.copy()
        return same

    def put(self, line: _Line) -> None:
        pk = line.run.submission_id
        self.drop(pk)
        self.field.put(line.run)
        self._times_us[pk], self._watched[pk] = line.time_us, line.telemetry

    def drop(self, submission_id: int) -> None:
        if self._times_us.pop(submission_id, None) is not None:
            del self._watched[submission_id]
            self.field.drop(submission_id)

    def table(self, level: Sequence[Pair]) -> Table:
        places = tuple(self.field.places(level))
        return Table(places, self._times_us, self._watched, self.field.runs, level)


@dataclass(frozen=True)
class _Kept:
    """What is known of one board and window. Nothing in it is ever changed."""

    state: State
    level: Sequence[Pair]
    lines: Mapping[str, _Lines]  # by epoch
    tables: Tables

    @property
    def runs(self) -> int:
        return sum(len(table.runs) for table in self.tables.values())


def read(wanted: Wanted) -> dict[int, Tables]:
    """Every board that was asked for."""
    states = _states(wanted)
    level = level_pairs(states) if states else {}
    kept = {board: known for board in states if (known := _shelf.get(board, wanted[board])) is not None}
    fresh = {board: known for board, known in kept.items() if known.state.token == states[board].token}
    behind = {board: known for board, known in kept.items() if board not in fresh}
    lines = {board: known.lines for board, known in fresh.items()} | _caught_up(behind, wanted)
    lines |= _read({board: wanted[board] for board in states if board not in lines})
    found: dict[int, Tables] = {board: {} for board in wanted if board not in states}  # never had a line
    for board, state in states.items():
        now = _kept(kept.get(board), state, level.get(board, ()), lines[board])
        _shelf.put(board, wanted[board], now)
        found[board] = now.tables
    return found


def forget() -> None:
    """As a process that has just begun."""
    _shelf.clear()


def run_of(entry: Entry) -> Run:
    """What ranking.py takes of a line."""
    return Run(*(getattr(entry, column) for column in COLUMNS))


def _states(boards: Iterable[int]) -> dict[int, State]:
    newest = Change.objects.filter(board=OuterRef("board")).order_by("-pk").values("pk")[:1]
    rows = Revision.objects.filter(board__in=list(boards)).annotate(newest=Subquery(newest))
    return {board: State(token, change) for board, token, change in rows.values_list("board", "token", "newest")}


def _kept(before: _Kept | None, state: State, level: Sequence[Pair], lines: Mapping[str, _Lines]) -> _Kept:
    """With another table only for those epochs of which something changed."""
    kept, tables = {}, {}
    for epoch, own in lines.items():
        is_known = before is not None and before.lines.get(epoch) is own
        if is_known and before is not None and before.level == level:
            kept[epoch], tables[epoch] = own, before.tables[epoch]
        elif own.field:
            kept[epoch] = own.copy() if is_known else own
            tables[epoch] = kept[epoch].table(level)
    return _Kept(state, level, kept, tables)


def _read(wanted: Wanted) -> dict[int, Mapping[str, _Lines]]:
    """All lines."""
    if not wanted:
        return {}
    rows: dict[int, dict[str, list[_Line]]] = {board: defaultdict(list) for board in wanted}
    lines = Entry.objects.filter(inside_each(wanted)).order_by().annotate(sent_us=SENT_US)
    for board, epoch, *row in lines.values_list("board_id", "epoch", *NARROW, *TOLD):
        row[SENT] = LONG_AGO + timedelta(microseconds=row[SENT])
        rows[board][epoch].append(_line(row))
    return {board: {epoch: _Lines(same) for epoch, same in epochs.items()} for board, epochs in rows.items()}


def _caught_up(behind: Mapping[int, _Kept], wanted: Wanted) -> dict[int, Mapping[str, _Lines]]:
    """Their lines as they are now, of those boards whose every change since is known. One query, so of one moment."""
    since = Q(pk__in=[])  # which alone asks nothing
    for board, kept in behind.items():
        if kept.state.change is not None:
            since |= Q(board=board, pk__gte=kept.state.change)
    columns = [f"submission__entry__{name}" for name in ("board_id", "epoch", *COLUMNS, *TOLD)]
    rows = Change.objects.filter(since).order_by("pk").values_list("board", "pk", "token", "submission", *columns)
    changes: dict[int, dict[int, Sequence[Any]]] = defaultdict(dict)
    anchored = set()
    for board, pk, token, submission, *entry in rows:
        changes[board][submission] = entry
        if State(token, pk) == behind[board].state:
            anchored.add(board)  # nothing since then was forgotten, taken back or restored from elsewhere
    return {board: _changed(behind[board].lines, changes[board], board, wanted[board]) for board in anchored}


def _changed(
    lines: Mapping[str, _Lines], changes: Mapping[int, Sequence[Any]], board: int, window: Window
) -> Mapping[str, _Lines]:
    """`changes`: submission → its board, epoch, COLUMNS and TOLD as they are now; nothing there: it has no line."""
    came: dict[str, list[_Line]] = defaultdict(list)
    for where, epoch, *row in changes.values():
        if where == board and window.holds(row[SENT]):
            came[epoch].append(_line(row))
    now = {}
    for epoch in lines.keys() | came.keys():
        old = lines.get(epoch)
        gone = [pk for pk in changes if old is not None and pk in old.field]
        now[epoch] = _Lines(()) if old is None else old.copy() if gone or epoch in came else old
        for pk in gone:
            now[epoch].drop(pk)
        for line in came.get(epoch, ()):
            now[epoch].put(line)
    return now


def _line(row: Sequence[Any]) -> _Line:
    """Of COLUMNS and TOLD."""
    *run, score_us, telemetry = row
    return _Line(Run(*run), score_us, telemetry)


class _Shelf:
    """What is kept, by board and window; those not asked for longest go first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, Window], _Kept] = OrderedDict()
        self._lines = 0
        self._lock = Lock()

    def get(self, board: int, window: Window) -> _Kept | None:
        with self._lock:
            kept = self._kept.get((board, window))
            if kept is not None:
                self._kept.move_to_end((board, window))
            return kept

    def put(self, board: int, window: Window, kept: _Kept) -> None:
        with self._lock:
            old = self._kept.pop((board, window), None)
            self._kept[board, window] = kept
            self._lines += kept.runs - (old.runs if old else 0)
            while self._lines > KEPT_LINES and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._lines -= dropped.runs

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._lines = 0


_shelf: Final = _Shelf()
