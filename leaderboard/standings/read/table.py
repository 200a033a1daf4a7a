"""Rankings as figures alone, from narrow rows: names are read elsewhere, only for the lines on a page.

A process keeps every board's tables: the values of its lines, in order. A table stays until the board's revision
changes. A trigger in the database renews the revision in every transaction that touches a line of the board: the cache
is right with any number of processes and any writer.

A table is made from the runs of all lines, which need far more memory. They are kept for the boards that
changed last. The trigger also lists the changed lines (Change), so that the first look after a change reads only these
and ranks the lines that they move. All lines of a board are read if its runs are not kept or too many changes are
unknown. Confirmations, which can tie two lines, are read each time. Four queries at most, for any number of boards and
lines. `read_records` and the measured times of a page's lines are read when they are shown.

A window bounds the lines of a stage that a viewer sees at a moment. Only this module turns calendar.py's windows into
queries: all code that shows lines, counts them or compares with them in public uses it. `in_full` is for people with a
role in the competition, who also see frozen lines.

Where agents rank apart, people and agents have tables of their own, and no line of one group ever meets a line of the
other. A trigger on the table of entrants renews the revisions of an entrant whose division changes.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from threading import Lock
from typing import Any, Final, Generic, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import BigIntegerField, F, OuterRef, Q, Subquery
from django.db.models.functions import Cast, Extract

from leaderboard.competitions.calendar import Stage, Window, is_frozen_at, shown_at, stage_of, window_of
from leaderboard.competitions.models import MEMBERS, Board
from leaderboard.confirmations.models import CONFIRMED, REFUSED, Confirmation
from leaderboard.entrants.models import in_group
from leaderboard.judging.models import Result
from leaderboard.standings.models import Change, Entry, Revision
from leaderboard.standings.ranking.progress import Best, bests
from leaderboard.standings.ranking.ranking import Field, Place, Record, Run, records

COLUMNS: Final = ("ratio", "half_width", "forgeable", "submitted_at", "submission_id", "entrant_id", "code_digest")
# Whole microseconds, converted to datetimes here: the driver takes as long to parse ten thousand times as ranking them.
SENT_US: Final = Cast(Extract("submitted_at", "epoch") * 1_000_000, BigIntegerField())
SENT: Final = COLUMNS.index("submitted_at")
NARROW: Final = tuple("sent_us" if column == "submitted_at" else column for column in COLUMNS)
LONG_AGO: Final = datetime(1970, 1, 1, tzinfo=UTC)
DIGEST_CHARS: Final = 16
KEPT_RUNS: Final = 100_000  # in memory, over all boards; 770 bytes each with their ranking
KEPT_PLACES: Final = 500_000  # in memory, over all boards; 610 bytes each, and 90 more where `at` was asked for

Pair = tuple[int, int]  # candidate, incumbent
Levels = Mapping[str, Sequence[Pair]]  # by epoch


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


def inside_each(windows: Mapping[int, Window], field: str = "submitted_at") -> Q:
    """Match lines of any of these boards, each inside its own window. Without boards it matches no line.

    `field`: the time of submission, of lines or of submissions.
    """
    boards: dict[Window, list[int]] = defaultdict(list)
    for board, window in windows.items():
        boards[window].append(board)
    condition = Q(pk__in=[])
    for window, same in boards.items():
        condition |= Q(inside(window, field), board__in=same)
    return condition


def is_shown(board: Board, submitted_at: datetime, now: datetime) -> bool:
    """Return whether a line of that time of submission is public now; if not, it counts from the reveal on."""
    return window(board, stage_at(board, submitted_at), now).holds(submitted_at)


def shown_lines(boards: Iterable[Board], now: datetime) -> Q:
    """Match the lines of these boards, of every stage, that the public sees now."""
    frozen: dict[int, tuple[Window, ...]] = {}
    plain: list[int] = []
    for board in boards:
        if is_frozen_at(board.competition.schedule, now):
            frozen[board.pk] = tuple(window(board, stage, now) for stage in Stage)
        else:
            plain.append(board.pk)
    condition = Q(board__in=plain)
    for place in range(len(Stage) if frozen else 0):
        condition |= inside_each({board: windows[place] for board, windows in frozen.items()})
    return condition


@dataclass(frozen=True)
class Table:
    """The ranking of a board, stage and epoch."""

    places: tuple[Place, ...]
    level: Sequence[Pair]
    runs: Q  # filters Entry

    @cached_property
    def at(self) -> Mapping[int, int]:
        """Map entrants to the index of their place; computed once, on first use."""
        return {place.value.entrant_id: at for at, place in enumerate(self.places)}

    def place_of(self, entrant: int) -> Place | None:
        at = self.at.get(entrant)
        return None if at is None else self.places[at]

    @cached_property
    def digest(self) -> str:
        """Return a name of this ranking, equal in every process; computed once, on first use.

        It covers the places of this window alone: a viewer learns nothing of hidden lines.
        """
        lines = ((place.rank, place.is_tied, place.value.ratio, place.value.submissions) for place in self.places)
        return hashlib.sha256(repr(tuple(lines)).encode()).hexdigest()[:DIGEST_CHARS]

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The successive holders of first place; read and computed once, on first use."""
        return tuple(records(self._all_runs(), self.level))

    @cached_property
    def fastest(self) -> tuple[Best, ...]:
        """The fastest value over time; read and computed once, on first use."""
        return tuple(bests(self._all_runs()))

    def _all_runs(self) -> Iterator[Run]:
        rows = Entry.objects.filter(self.runs).order_by().annotate(sent_us=SENT_US).values_list(*NARROW)
        return map(_run, map(list, rows))


NO_LINES: Final = Table((), (), Q(pk__in=[]))
Tables = Mapping[str, Table]  # by epoch; only epochs with lines
Part = tuple[int, str]  # board, group of its entrants
Wanted = Mapping[Part, Window]  # window of the part's lines


class State(NamedTuple):
    """The state of a board's lines: its revision, and the newest change that it includes."""

    token: UUID
    change: int | None


@dataclass(frozen=True)
class _Ranked:
    """Tables of a part and window; immutable."""

    state: State
    level: Levels
    tables: Tables

    def __len__(self) -> int:
        return sum(len(table.places) for table in self.tables.values())


@dataclass(frozen=True)
class _Runs:
    """Runs of a part and window by epoch, and what was ranked from them; immutable."""

    ranked: _Ranked
    fields: Mapping[str, Field]

    def __len__(self) -> int:
        return sum(len(field) for field in self.fields.values())


def read(wanted: Wanted) -> dict[Part, Tables]:
    """Return the tables of every wanted part."""
    newest = Change.objects.filter(board=OuterRef("board")).order_by("-pk").values("pk")[:1]
    revisions = Revision.objects.filter(board__in={board for board, _ in wanted}).annotate(newest=Subquery(newest))
    states = {board: State(*state) for board, *state in revisions.values_list("board", "token", "newest")}
    level = level_pairs(states) if states else {}
    found: dict[Part, Tables] = {part: {} for part in wanted if part[0] not in states}  # boards that never had a line
    for part in wanted.keys() - found.keys():
        known = _ranked.get(part, wanted[part])
        if known is not None and (known.state.token, known.level) == (states[part[0]].token, level.get(part[0], {})):
            found[part] = known.tables
    left = {part: window for part, window in wanted.items() if part not in found}
    kept = {part: runs for part, window in left.items() if (runs := _runs.get(part, window)) is not None}
    fresh = {part: runs for part, runs in kept.items() if runs.ranked.state.token == states[part[0]].token}
    behind = {part: runs for part, runs in kept.items() if part not in fresh}
    fields = {part: runs.fields for part, runs in fresh.items()} | _caught_up(behind, wanted)
    fields |= _read({part: window for part, window in left.items() if part not in fields})
    for part, window in left.items():
        now = _rank(kept.get(part), states[part[0]], level.get(part[0], {}), fields[part], part, window)
        _runs.put(part, window, now)
        _ranked.put(part, window, now.ranked)
        found[part] = now.ranked.tables
    return found


def forget() -> None:
    """Empty the cache, as in a new process."""
    _ranked.clear()
    _runs.clear()


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


def _rank(
    before: _Runs | None, state: State, level: Levels, fields: Mapping[str, Field], part: Part, window: Window
) -> _Runs:
    """Return the runs with their tables, new ones only for epochs that changed."""
    kept: dict[str, Field] = {}
    tables: dict[str, Table] = {}
    board, group = part
    for epoch, own in fields.items():
        is_known = before is not None and before.fields.get(epoch) is own
        pairs = level.get(epoch, ())
        if is_known and before is not None and before.ranked.level.get(epoch, ()) == pairs:
            kept[epoch], tables[epoch] = own, before.ranked.tables[epoch]
        elif own:
            kept[epoch] = own.copy() if is_known else own  # ranking writes into it
            lines = Q(inside(window), in_group(group), board=board, epoch=epoch)
            tables[epoch] = Table(tuple(kept[epoch].places(pairs)), pairs, lines)
    return _Runs(_Ranked(state, level, tables), kept)


def _read(wanted: Wanted) -> dict[Part, Mapping[str, Field]]:
    """Read all lines: a query for each group, so that the tables of everybody need no join."""
    groups: dict[str, dict[int, Window]] = defaultdict(dict)
    for (board, group), window in wanted.items():
        groups[group][board] = window
    rows: dict[Part, dict[str, list[Run]]] = {part: defaultdict(list) for part in wanted}
    for group, windows in groups.items():
        lines = Entry.objects.filter(inside_each(windows), in_group(group)).order_by().annotate(sent_us=SENT_US)
        for board, epoch, *row in lines.values_list("board_id", "epoch", *NARROW):
            rows[board, group][epoch].append(_run(row))
    return {part: {epoch: Field(same) for epoch, same in epochs.items()} for part, epochs in rows.items()}


def _run(row: list[Any]) -> Run:
    """Build a run from NARROW."""
    row[SENT] = LONG_AGO + timedelta(microseconds=row[SENT])
    return Run(*row)


def _caught_up(behind: Mapping[Part, _Runs], wanted: Wanted) -> dict[Part, Mapping[str, Field]]:
    """Return the present lines of parts whose changes since then are all known. One query, for a consistent moment."""
    since = Q(pk__in=[])  # matches no row by itself
    for (board, _), kept in behind.items():
        if kept.ranked.state.change is not None:
            since |= Q(board=board, pk__gte=kept.ranked.state.change)
    columns = [f"submission__entry__{name}" for name in ("board_id", "epoch", "entrant__division", *COLUMNS)]
    rows = Change.objects.filter(since).order_by("pk").values_list("board", "pk", "token", "submission", *columns)
    changes: dict[int, dict[int, Sequence[Any]]] = defaultdict(dict)
    states = defaultdict(set)
    for board, pk, token, submission, *entry in rows:
        changes[board][submission] = entry
        states[board].add(State(token, pk))
    # A part whose state is among these is anchored: no later change was pruned, rolled back or restored from a backup.
    anchored = [part for part, kept in behind.items() if kept.ranked.state in states[part[0]]]
    return {part: _changed(behind[part].fields, changes[part[0]], part, wanted[part]) for part in anchored}


def _changed(
    fields: Mapping[str, Field], changes: Mapping[int, Sequence[Any]], part: Part, window: Window
) -> Mapping[str, Field]:
    """Apply changes.

    `changes`: submission → its present board, epoch, division and COLUMNS; nulls: it has no line.
    """
    board, group = part
    came: dict[str, list[Run]] = defaultdict(list)
    for where, epoch, division, *row in changes.values():
        if where == board and division in MEMBERS[group] and window.holds(row[SENT]):
            came[epoch].append(Run(*row))
    now = {}
    for epoch in fields.keys() | came.keys():
        old = fields.get(epoch)
        gone = [pk for pk in changes if old is not None and pk in old]
        now[epoch] = Field() if old is None else old.copy() if gone or epoch in came else old
        for pk in gone:
            now[epoch].drop(pk)
        for run in came.get(epoch, ()):
            now[epoch].put(run)
    return now


T = TypeVar("T", _Ranked, _Runs)


class _Shelf(Generic[T]):
    """Cache by part and window; the least recently used entries go first. `most`: the sum of their lengths."""

    def __init__(self, most: int) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[tuple[Part, Window], T] = OrderedDict()
        self._lock = Lock()

    def get(self, part: Part, window: Window) -> T | None:
        with self._lock:
            kept = self._kept.get((part, window))
            if kept is not None:
                self._kept.move_to_end((part, window))
            return kept

    def put(self, part: Part, window: Window, kept: T) -> None:
        with self._lock:
            old = self._kept.pop((part, window), None)
            self._kept[part, window] = kept
            self._size += len(kept) - (len(old) if old is not None else 0)
            while self._size > self._most and len(self._kept) > 1:
                _, dropped = self._kept.popitem(last=False)
                self._size -= len(dropped)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._size = 0


_ranked: Final = _Shelf[_Ranked](KEPT_PLACES)
_runs: Final = _Shelf[_Runs](KEPT_RUNS)


def level_pairs(boards: Iterable[int]) -> dict[int, dict[str, tuple[Pair, ...]]]:
    """Map boards, then epochs, to the pairs of submissions that the newest confirmation could not distinguish.

    One query. Only verdicts by the problem's current version count, each in the epoch that it was measured in. Boards
    without pairs are left out.
    """
    decided = Confirmation.objects.filter(
        board__in=list(boards), version=F("board__version"), outcome__in=(CONFIRMED, REFUSED)
    )
    rows = decided.order_by("id").values_list("board", "found__epoch", "candidate", "incumbent", "outcome")
    newest = {(board, epoch or "", tuple(pair)): outcome for board, epoch, *pair, outcome in rows}
    found: dict[int, dict[str, tuple[Pair, ...]]] = {}
    for (board, epoch, (candidate, incumbent)), outcome in newest.items():
        if outcome == REFUSED:
            level = found.setdefault(board, {})
            level[epoch] = (*level.get(epoch, ()), (candidate, incumbent))
    return found
