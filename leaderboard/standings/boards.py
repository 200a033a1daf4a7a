"""What pages and the API read of the standings: Entry and nothing else. Times are on the scale of their board.

A board is ranked within one stage of its competition and one timing epoch, and nothing here ever mixes two. Which lines
are counted at a moment is said by windows.py. The current epoch is that of the board's hardware which became current
last among those that it shows lines of. Lines of earlier epochs stay, to be seen when asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from leaderboard.competitions.calendar import Stage, Window, current_stage
from leaderboard.competitions.models import Board
from leaderboard.judging.models import Epoch
from leaderboard.standings.field import Field
from leaderboard.standings.front import front
from leaderboard.standings.history import Record
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking import Place, Run, Value, pool
from leaderboard.standings.table import COLUMNS, NO_LINES, Table, Tables, read, run_of
from leaderboard.standings.windows import inside, is_shown, stage_at, window
from leaderboard.submissions.models import Submission


@dataclass(frozen=True)
class BoardEpoch:
    """A timing epoch that a board has lines of."""

    name: str  # "": of runners that said none
    since: datetime | None
    is_current: bool


@dataclass(frozen=True)
class RankedEntry:
    rank: int
    is_tied: bool  # shares its rank, within the noise, with others
    value: Value  # of all runs of this kernel
    entry: Entry  # of the first of them
    score_us: float  # the value on the board's scale
    telemetry: str  # the least that was watched in any run


@dataclass(frozen=True)
class Standing:
    """Where one published submission stands, with all runs of the same kernel of its entrant."""

    rank: int | None  # None: behind a faster kernel of its entrant, of an earlier epoch, or not shown yet
    is_tied: bool
    is_current: bool  # of the epoch that the board ranks
    is_shown: bool  # False: sent while frozen; it counts, and is seen by others from the reveal on
    stage: Stage
    value: Value
    score_us: float


@dataclass(frozen=True)
class Look:
    """What one sees of a board in a stage: its epochs, the current one first, and the ranking of each."""

    stage: Stage
    epochs: tuple[BoardEpoch, ...]
    tables: Tables

    @property
    def current(self) -> Table:
        return self.tables[self.epochs[0].name] if self.epochs else NO_LINES


def look(board: Board, *, stage: Stage, now: datetime, in_full: bool = False) -> Look:
    return looks([board], now=now, stage=stage, in_full=in_full)[board.pk]


def looks(
    boards: Iterable[Board], *, now: datetime, stage: Stage | None = None, in_full: bool = False
) -> dict[int, Look]:
    """Board → what one sees of it, in this stage or in its current one. Five queries at most for any number."""
    listed = list(boards)
    stages = {board.pk: stage or current_stage(board.competition.schedule, now) for board in listed}
    found = read({board.pk: window(board, stages[board.pk], now, in_full=in_full) for board in listed})
    known = Epoch.objects.filter(hardware__in={board.hardware for board in listed}).order_by("-current_since", "-pk")
    opened: dict[str, dict[str, datetime]] = defaultdict(dict)
    for epoch in known if any(found.values()) else ():
        opened[epoch.hardware][epoch.name] = epoch.opened_at
    return {
        board.pk: Look(stages[board.pk], _epochs(found[board.pk], opened[board.hardware]), found[board.pk])
        for board in listed
    }


def board_epochs(board: Board, *, stage: Stage, now: datetime, in_full: bool = False) -> list[BoardEpoch]:
    """Those that this board shows lines of, the current one first."""
    return list(look(board, stage=stage, now=now, in_full=in_full).epochs)


def board_entries(
    board: Board,
    epoch: str,
    *,
    stage: Stage,
    now: datetime,
    in_full: bool = False,
    start: int = 0,
    most: int | None = None,
) -> list[RankedEntry]:
    """The board in one epoch: best first, one line an entrant; `most` of them, from `start` on."""
    table = look(board, stage=stage, now=now, in_full=in_full).tables.get(epoch, NO_LINES)
    return lines_of(table, table.places[start : None if most is None else start + most])


def lines_of(table: Table, places: Sequence[Place]) -> list[RankedEntry]:
    """Some of the table's places, with their entries: one query."""
    return _with_entries([(table, place) for place in places])


def leaders_of(tables: Iterable[Table]) -> dict[int, RankedEntry]:
    """The first line of each table, by its submission: one query for all of them."""
    found = _with_entries([(table, place) for table in tables for place in table.places[:1]])
    return {line.value.submissions[0]: line for line in found}


def _with_entries(places: Sequence[tuple[Table, Place]]) -> list[RankedEntry]:
    firsts = [place.value.submissions[0] for _, place in places]
    rows = Entry.objects.filter(submission__in=firsts).select_related("entrant") if firsts else ()
    entries = {entry.submission_id: entry for entry in rows}
    return [
        RankedEntry(
            rank=place.rank,
            is_tied=place.is_tied,
            value=place.value,
            entry=entries[first],
            score_us=place.value.ratio * table.scale_us,
            telemetry=table.telemetry(place.value),
        )
        for first, (table, place) in zip(firsts, places, strict=True)
        if first in entries  # one that was withdrawn a moment ago is gone
    ]


def standing_of(submission: Submission, *, now: datetime) -> Standing | None:
    """None where the submission is not published. Others are only looked at as far as they are shown."""
    board = submission.board
    stage = stage_at(board, submission.created_at)
    epoch = Entry.objects.filter(submission=submission).values_list("epoch", flat=True).first()
    if epoch is None:
        return None
    shown = look(board, stage=stage, now=now)
    table = shown.tables.get(epoch, NO_LINES)
    seen = is_shown(board, submission.created_at, now)
    is_current = not shown.epochs or epoch == shown.epochs[0].name
    place = next((place for place in table.places if submission.pk in place.value.submissions), None)
    value, scale_us = _own_value(submission, epoch, window(board, stage, now, in_full=not seen))
    return Standing(
        rank=place.rank if place and is_current else None,
        is_tied=place.is_tied if place and is_current else False,
        is_current=is_current,
        is_shown=seen,
        stage=stage,
        value=value,
        score_us=value.ratio * (table.scale_us or scale_us),
    )


def published_times(submissions: Iterable[int], *, now: datetime) -> dict[int, float]:
    """Submission id → its time on its board's scale; absent: not published. As many queries as there are stages."""
    published = Entry.objects.filter(submission__in=list(submissions)).select_related("board__competition")
    by_stage: dict[Stage, list[Entry]] = defaultdict(list)
    for entry in published:
        by_stage[stage_at(entry.board, entry.submitted_at)].append(entry)
    times = {}
    for stage, entries in by_stage.items():
        seen = looks({entry.board_id: entry.board for entry in entries}.values(), now=now, stage=stage)
        for entry in entries:
            scale_us = seen[entry.board_id].tables.get(entry.epoch, NO_LINES).scale_us
            times[entry.submission_id] = entry.ratio * scale_us if scale_us else entry.score_us
    return times


@dataclass(frozen=True)
class RecordLine:
    record: Record
    entry: Entry  # of the first run of the kernel

    @property
    def gain_said(self) -> str:
        """How much faster than who stood first before, in per cent."""
        return f"{((self.record.gain or 1) - 1) * 100:+.1f} %"


def board_records(board: Board, *, stage: Stage, now: datetime) -> list[RecordLine]:
    """Who stood first from when on, the oldest first: of the lines that are shown, in the epoch that is ranked."""
    found = look(board, stage=stage, now=now).current.records
    firsts = Entry.objects.filter(submission__in=[record.value.submissions[0] for record in found])
    entries = {entry.submission_id: entry for entry in firsts.select_related("entrant")}
    return [RecordLine(one, entries[one.value.submissions[0]]) for one in found if one.value.submissions[0] in entries]


def incumbent_ratios(*, board: int, epoch: str, submissions: Iterable[int]) -> dict[int, float | None]:
    """Submission → the best published value of the board in this epoch, of any stage and shown or not, without its run.

    For screening alone: what it says must reach nobody but reviewers while the board is frozen.
    """
    rows = Entry.objects.filter(board=board, epoch=epoch).order_by().values_list(*COLUMNS)
    field = Field(Run(*row) for row in rows)
    return {submission: field.best_without(submission) for submission in submissions}


def incumbent_ratio(*, board: Board, epoch: str, without: Submission) -> float | None:
    """The same for one submission, however many lines the board has."""
    others = Entry.objects.filter(board=board, epoch=epoch).exclude(submission=without)
    return next((values[0].ratio for values in front(others)), None)


def _own_value(submission: Submission, epoch: str, counted: Window) -> tuple[Value, float]:
    """Of the runs of its kernel, and the scale of the first: what times are told on where nobody's are shown yet."""
    same = {"board": submission.board_id, "entrant": submission.entrant_id, "code_digest": submission.kernel}
    runs = list(Entry.objects.filter(inside(counted), epoch=epoch, **same).order_by("submitted_at", "submission_id"))
    [value] = pool(map(run_of, runs))
    return value, runs[0].score_us / runs[0].ratio


def _epochs(tables: Tables, opened: Mapping[str, datetime]) -> tuple[BoardEpoch, ...]:
    """`opened`: of this hardware, the current one first."""
    found: list[tuple[str, datetime | None]] = [(name, since) for name, since in opened.items() if name in tables]
    found += [(name, None) for name in sorted(tables) if name not in opened]
    return tuple(BoardEpoch(name, since, is_current=not place) for place, (name, since) in enumerate(found))
