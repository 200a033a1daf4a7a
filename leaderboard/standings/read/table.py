"""Rankings as figures alone, from narrow rows: names are read elsewhere, only for the lines on a page.

A process keeps a board's tables until the board's revision changes. A trigger in the database renews the revision in
every transaction that touches a line of the board: the cache is right with any number of processes and any writer. The
trigger also lists the changed lines (Change), so that the first look after a change reads only these and ranks the
lines that they move. All lines of a board are read if too many changes are unknown or no table is kept. Confirmations,
which can tie two lines, are read each time. Four queries at most, for any number of boards and lines.

A window bounds the lines of a stage that a viewer sees at a moment. Only this module turns calendar.py's windows into
queries: all code that shows lines, counts them or compares with them in public uses it. `in_full` is for people with a
role in the competition, who also see frozen lines.
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

from django.db.models import BigIntegerField, F, OuterRef, Q, Subquery
from django.db.models.functions import Cast, Extract

from leaderboard.competitions.calendar import Stage, Window, shown_at, stage_of, window_of
from leaderboard.competitions.models import Board
from leaderboard.confirmations.models import CONFIRMED, REFUSED, Confirmation
from leaderboard.judging.models import Result
from leaderboard.standings.models import Change, Entry, Revision
from leaderboard.standings.ranking.ranking import Field, Place, Record, Run, Value, mean_time_us, records

COLUMNS: Final = ("ratio", "half_width", "forgeable", "submitted_at", "submission_id", "entrant_id", "code_digest")
SHOWN: Final = ("score_us", "telemetry")  # columns of a table besides the ranking
# Whole microseconds, converted to datetimes here: the driver takes as long to parse ten thousand times as ranking them.
SENT_US: Final = Cast(Extract("submitted_at", "epoch") * 1_000_000, BigIntegerField())
SENT: Final = COLUMNS.index("submitted_at")
NARROW: Final = tuple("sent_us" if column == "submitted_at" else column for column in COLUMNS)
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
KEPT_LINES: Final = 200_000  # in memory, over all boards; some 200 MB

Pair = tuple[int, int]  # candidate, incumbent


def window(board: Board, stage: Stage, now: datetime, *, in_full: bool = False) -> Window:
    if in_full:
        return whole_window(board, stage)
    return shown_at(board.competition.schedule, stage, now, board_deadline=board.deadline)


def whole_window(board: Board, stage: Stage) -> Window:
    """Return the window without regard to a freeze."""
    return window_of(board.competition.schedule, stage, board_deadline=board.deadline)


def stage_at(board: Board, submitted_at: datetime) -> Stage:
    """Return the stage to which a submission of this time to this board belongs."""
    return stage_of(board.competition.schedule, submitted_at, board_deadline=board.deadline)


def inside(window: Window, field: str = "submitted_at") -> Q:
    """Return `Window.holds` as a query condition."""
    condition = Q()
    if window.since is not None:
        condition &= Q(**{f"{field}__gte": window.since})
    if window.until is not None:
        condition &= Q(**{f"{field}__lt": window.until})
    return condition


def inside_each(windows: Mapping[int, Window]) -> Q:
    """Match lines of any of these boards, each inside its own window. Without boards it matches no line."""
    boards: dict[Window, list[int]] = defaultdict(list)
    for board, window in windows.items():
        boards[window].append(board)
    condition = Q(pk__in=[])
    for window, same in boards.items():
        condition |= Q(inside(window), board__in=same)
    return condition


def is_shown(board: Board, submitted_at: datetime, now: datetime) -> bool:
    """Return whether a line of that time of submission is public now; if not, it counts from the reveal on."""
    return window(board, stage_at(board, submitted_at), now).holds(submitted_at)


class BoardLine(NamedTuple):
    run: Run
    time_us: float  # measured time of the run
    telemetry: str


@dataclass(frozen=True)
class Table:
    """The ranking of a board, stage and epoch."""

    places: tuple[Place, ...]
    lines: Mapping[int, BoardLine]  # by submission
    level: Sequence[Pair]

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The successive leaders; computed once, on first use."""
        return tuple(records((line.run for line in self.lines.values()), self.level))

    def time_us(self, value: Value) -> float:
        """Return the measured time of a kernel, over its own runs."""
        return mean_time_us([self.lines[pk].time_us for pk in value.submissions])

    def telemetry(self, value: Value) -> str:
        """Return the weakest telemetry of its runs."""
        levels = {self.lines[pk].telemetry for pk in value.submissions}
        return next(level for level in ("", "none", "mask_only", "full") if level in levels)


NO_LINES: Final = Table((), {}, ())
Tables = Mapping[str, Table]  # by epoch; only epochs with lines
Wanted = Mapping[int, Window]  # board → window of its lines


class State(NamedTuple):
    """The state of a board's lines: its revision, and the newest change that it includes."""

    token: UUID
    change: int | None


class _EpochLines:
    """Lines of an epoch. A writer works on a copy of its own."""

    def __init__(self, lines: Iterable[BoardLine]) -> None:
        self._lines = {line.run.submission_id: line for line in lines}
        self.field = Field(line.run for line in self._lines.values())

    def copy(self) -> _EpochLines:
        same = _EpochLines(())
        same.field, same._lines = self.field.copy(), self._lines.copy()
        return same

    def put(self, line: BoardLine) -> None:
        self.drop(line.run.submission_id)
        self.field.put(line.run)
        self._lines[line.run.submission_id] = line

    def drop(self, submission_id: int) -> None:
        if self._lines.pop(submission_id, None) is not None:
            self.field.drop(submission_id)

    def table(self, level: Sequence[Pair]) -> Table:
        return Table(tuple(self.field.places(level)), self._lines, level)


@dataclass(frozen=True)
class _Kept:
    """Cached state of a board and window; immutable."""

    state: State
    level: Sequence[Pair]
    lines: Mapping[str, _EpochLines]  # by epoch
    tables: Tables

    @property
    def runs(self) -> int:
        return sum(len(table.lines) for table in self.tables.values())


def read(wanted: Wanted) -> dict[int, Tables]:
    """Return the tables of every wanted board."""
    newest = Change.objects.filter(board=OuterRef("board")).order_by("-pk").values("pk")[:1]
    revisions = Revision.objects.filter(board__in=list(wanted)).annotate(newest=Subquery(newest))
    states = {board: State(*state) for board, *state in revisions.values_list("board", "token", "newest")}
    level = level_pairs(states) if states else {}
    kept = {board: known for board in states if (known := _shelf.get(board, wanted[board])) is not None}
    fresh = {board: known for board, known in kept.items() if known.state.token == states[board].token}
    behind = {board: known for board, known in kept.items() if board not in fresh}
    lines = {board: known.lines for board, known in fresh.items()} | _caught_up(behind, wanted)
    lines |= _read({board: wanted[board] for board in states if board not in lines})
    found: dict[int, Tables] = {board: {} for board in wanted if board not in states}  # boards that never had a line
    for board, state in states.items():
        now = _kept(kept.get(board), state, level.get(board, ()), lines[board])
        _shelf.put(board, wanted[board], now)
        found[board] = now.tables
    return found


def forget() -> None:
    """Empty the cache, as in a new process."""
    _shelf.clear()


def run_of(entry: Entry) -> Run:
    """Return a line's fields for ranking.py."""
    return Run(*(getattr(entry, column) for column in COLUMNS))


def run_of_result(result: Result) -> Run:
    """Return the run that a passing ranked result would have on its board."""
    assert result.ratio is not None
    submission = result.attempt.submission
    return Run(
        ratio=result.ratio,
        half_width=result.half_width,
        forgeable=result.forgeable,
        submitted_at=submission.created_at,
        submission_id=submission.pk,
        entrant_id=submission.entrant_id,
        code=submission.kernel,
    )


def _kept(before: _Kept | None, state: State, level: Sequence[Pair], lines: Mapping[str, _EpochLines]) -> _Kept:
    """Return the new cache entry, with new tables only for epochs that changed."""
    kept, tables = {}, {}
    for epoch, own in lines.items():
        is_known = before is not None and before.lines.get(epoch) is own
        if is_known and before is not None and before.level == level:
            kept[epoch], tables[epoch] = own, before.tables[epoch]
        elif own.field:
            kept[epoch] = own.copy() if is_known else own
            tables[epoch] = kept[epoch].table(level)
    return _Kept(state, level, kept, tables)


def _read(wanted: Wanted) -> dict[int, Mapping[str, _EpochLines]]:
    """Read all lines."""
    if not wanted:
        return {}
    rows: dict[int, dict[str, list[BoardLine]]] = {board: defaultdict(list) for board in wanted}
    lines = Entry.objects.filter(inside_each(wanted)).order_by().annotate(sent_us=SENT_US)
    for board, epoch, *row in lines.values_list("board_id", "epoch", *NARROW, *SHOWN):
        row[SENT] = LONG_AGO + timedelta(microseconds=row[SENT])
        rows[board][epoch].append(_line(row))
    return {board: {epoch: _EpochLines(same) for epoch, same in epochs.items()} for board, epochs in rows.items()}


def _caught_up(behind: Mapping[int, _Kept], wanted: Wanted) -> dict[int, Mapping[str, _EpochLines]]:
    """Return the present lines of boards whose changes since then are all known. One query, for a consistent moment."""
    since = Q(pk__in=[])  # matches no row by itself
    for board, kept in behind.items():
        if kept.state.change is not None:
            since |= Q(board=board, pk__gte=kept.state.change)
    columns = [f"submission__entry__{name}" for name in ("board_id", "epoch", *COLUMNS, *SHOWN)]
    rows = Change.objects.filter(since).order_by("pk").values_list("board", "pk", "token", "submission", *columns)
    changes: dict[int, dict[int, Sequence[Any]]] = defaultdict(dict)
    anchored = set()
    for board, pk, token, submission, *entry in rows:
        changes[board][submission] = entry
        if State(token, pk) == behind[board].state:
            anchored.add(board)  # no later change was pruned, rolled back or restored from a backup
    return {board: _changed(behind[board].lines, changes[board], board, wanted[board]) for board in anchored}


def _changed(
    lines: Mapping[str, _EpochLines], changes: Mapping[int, Sequence[Any]], board: int, window: Window
) -> Mapping[str, _EpochLines]:
    """Apply changes. `changes`: submission → its present board, epoch, COLUMNS and SHOWN; nulls: it has no line."""
    came: dict[str, list[BoardLine]] = defaultdict(list)
    for where, epoch, *row in changes.values():
        if where == board and window.holds(row[SENT]):
            came[epoch].append(_line(row))
    now = {}
    for epoch in lines.keys() | came.keys():
        old = lines.get(epoch)
        gone = [pk for pk in changes if old is not None and pk in old.field]
        now[epoch] = _EpochLines(()) if old is None else old.copy() if gone or epoch in came else old
        for pk in gone:
            now[epoch].drop(pk)
        for line in came.get(epoch, ()):
            now[epoch].put(line)
    return now


def _line(row: Sequence[Any]) -> BoardLine:
    """Build a line from COLUMNS and SHOWN."""
    *run, score_us, telemetry = row
    return BoardLine(Run(*run), score_us, telemetry)


class _Shelf:
    """Cache by board and window; the least recently used entries go first."""

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


def level_pairs(boards: Iterable[int]) -> dict[int, tuple[Pair, ...]]:
    """Map boards to the pairs of submissions that the newest confirmation could not distinguish; one query.

    Only verdicts by the problem's current version count. Boards without pairs are left out.
    """
    decided = Confirmation.objects.filter(
        board__in=list(boards), version=F("board__version"), outcome__in=(CONFIRMED, REFUSED)
    )
    rows = decided.order_by("id").values_list("board", "candidate", "incumbent", "outcome")
    newest = {(board, (candidate, incumbent)): outcome for board, candidate, incumbent, outcome in rows}
    found: dict[int, tuple[Pair, ...]] = {}
    for (board, pair), outcome in newest.items():
        if outcome == REFUSED:
            found[board] = (*found.get(board, ()), pair)
    return found
