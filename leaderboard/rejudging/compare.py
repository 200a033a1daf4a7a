"""The effect of a re-judging set: each submission before and after, the boards now and after applying it.

Reads and never writes; a fixed number of queries for a set of any size. apply.try_rejudging predicts which results
would be held for review, because it reads their reports.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.db.models import QuerySet

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board, Competition
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.models import Attempt, RejudgeItem, RejudgeSet, Result
from leaderboard.judging.work import UNFINISHED
from leaderboard.rejudging.sets import currents_of, fate_of, items_of
from leaderboard.review.standing import REJECTED, reviews_of
from leaderboard.review.suspension import suspended_users
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import retracted_kernels
from leaderboard.standings.ranking.eligible import refusal
from leaderboard.standings.ranking.level import level_pairs
from leaderboard.standings.ranking.ranking import TIE, Run, rank
from leaderboard.standings.read.podium import PODIUM
from leaderboard.standings.read.table import run_of
from leaderboard.standings.read.windows import stage_at


class Line(NamedTuple):
    """A line of a board, published or predicted."""

    board_id: int
    stage: Stage
    epoch: str
    run: Run
    name: str  # of its entrant


@dataclass(frozen=True)
class Table:
    """A board and stage, in the epoch that it ranks."""

    epoch: str
    ranks: Mapping[int, int]  # submission id → its rank; absent: behind a faster kernel of its entrant
    podium: tuple[str, ...]
    submissions: frozenset[int]  # all submissions with a line here


NO_TABLE: Final = Table("", {}, (), frozenset())


@dataclass(frozen=True)
class Difference:
    """A submission of the set, before and after."""

    item: RejudgeItem
    fate: str  # one of RejudgeItem.BECAME; "": not judged yet
    before: Result | None
    after: Result | None
    rank_before: int | None
    rank_after: int | None

    @property
    def same_verdict(self) -> bool:
        return self.item.before.outcome == self.item.after.outcome

    @property
    def factor(self) -> float | None:
        """The ratio to the baseline after / before; below 1: now faster."""
        if self.before is None or self.after is None or not self.before.ratio or not self.after.ratio:
            return None
        return self.after.ratio / self.before.ratio

    @property
    def change(self) -> float | None:
        """Relative change of the speedup; above 0: now faster."""
        return None if self.factor is None else 1 / self.factor - 1

    @property
    def beyond_noise(self) -> bool:
        return self.factor is not None and differ(
            self.factor, *(side.half_width for side in (self.before, self.after) if side is not None)
        )

    @property
    def other_epoch(self) -> bool:
        return bool(self.before and self.after and self.before.ratio and self.before.epoch != self.after.epoch)

    @property
    def moved(self) -> bool:
        return self.rank_before != self.rank_after


@dataclass(frozen=True)
class BoardChange:
    board: Board
    stage: Stage
    before: Table
    after: Table
    left_behind: int  # lines that the board ranks now and would then keep in an unranked epoch

    @property
    def podium(self) -> list[tuple[int, str, str]]:
        """The places that change: place, present holder, future holder."""
        pairs = [(_at(self.before.podium, place), _at(self.after.podium, place)) for place in range(PODIUM)]
        return [(place + 1, old, new) for place, (old, new) in enumerate(pairs) if old != new]


@dataclass(frozen=True)
class Comparison:
    rows: list[Difference]
    boards: list[BoardChange]

    @property
    def left_behind(self) -> int:
        return sum(change.left_behind for change in self.boards)

    @property
    def judged(self) -> int:
        return sum(1 for row in self.rows if row.fate)

    @property
    def podium_moves(self) -> int:
        return sum(len(change.podium) for change in self.boards)


def differ(factor: float, *half_widths: float | None) -> bool:
    """Pure: return whether two values of a kernel differ beyond their intervals and the noise between two jobs."""
    noise = math.hypot(*(width or 0.0 for width in half_widths))
    return abs(math.log(factor)) > max(TIE, noise)


def compare(chosen: RejudgeSet, *, items: Sequence[RejudgeItem] | None = None) -> Comparison:
    """Compare as of now; for an applied set, return the stored fates and ranks."""
    items = items_of(chosen) if items is None else items
    fates = fates_of(items, currents_of(chosen))
    changes = board_changes(items, fates)
    places = {(change.board.pk, change.stage): change for change in changes}
    return Comparison([_difference(item, fates[item.pk], places) for item in items], changes)


def fates_of(items: Sequence[RejudgeItem], currents: Mapping[int, int]) -> dict[int, str]:
    """Map item ids to the fate on applying, or the stored fate; "": not judged yet."""
    rejected = _rejected(item.before_id for item in items)
    return {
        item.pk: item.became
        or (
            ""
            if item.after.state in UNFINISHED
            else fate_of(item, current_id=currents.get(item.submission_id), is_rejected=item.before_id in rejected)
        )
        for item in items
    }


def board_changes(items: Sequence[RejudgeItem], fates: Mapping[int, str]) -> list[BoardChange]:
    """Return every board and stage with submissions of the set, now and after applying it."""
    boards = {item.submission.board_id: item.submission.board for item in items}
    lines = {line.run.submission_id: line for line in _published(boards)}
    changed = [item for item in items if fates[item.pk] == RejudgeItem.APPLIED and not item.became]
    would, kept_off = dict(lines), _kept_off(changed)
    for item in changed:
        would.pop(item.submission_id, None)
        line = _line_of(item, boards[item.submission.board_id])
        if line is not None and item.submission_id not in kept_off:
            would[item.submission_id] = line
    ranked, level = RankedEpochs([*boards.values()]), [pair for pairs in level_pairs(boards).values() for pair in pairs]
    before, after = (_tables(found.values(), boards, ranked, level) for found in (lines, would))
    changes = []
    for board_id, stage in sorted(before | after):
        old, new = (tables.get((board_id, stage), NO_TABLE) for tables in (before, after))
        changes.append(BoardChange(boards[board_id], stage, old, new, _left_behind(old, new, would)))
    return changes


def ranks_of(items: Iterable[RejudgeItem], changes: Iterable[BoardChange]) -> dict[int, int | None]:
    """Map item ids to the present rank of their submission."""
    ranks = {pk: place for change in changes for pk, place in change.before.ranks.items()}
    return {item.pk: ranks.get(item.submission_id) for item in items}


def published_in(competition: Competition, board: Board | None) -> QuerySet[Any]:
    """Return the ids of submissions that have a line."""
    lines = Entry.objects.filter(board__competition=competition)
    return (lines if board is None else lines.filter(board=board)).values("submission_id")


def _difference(item: RejudgeItem, fate: str, places: Mapping[tuple[int, Stage], BoardChange]) -> Difference:
    submission = item.submission
    here = (submission.board_id, stage_at(submission.board, submission.created_at))
    change = places.get(here)
    ranks = (item.rank_before, item.rank_after)
    if not item.became and change is not None:
        ranks = (change.before.ranks.get(submission.pk), change.after.ranks.get(submission.pk))
    return Difference(item, fate, _result_of(item.before), _result_of(item.after), *ranks)


def _published(boards: Mapping[int, Board]) -> list[Line]:
    entries = Entry.objects.filter(board__in=boards).select_related("entrant")
    return [
        Line(
            board_id=entry.board_id,
            stage=stage_at(boards[entry.board_id], entry.submitted_at),
            epoch=entry.epoch,
            run=run_of(entry),
            name=entry.entrant.shown_name,
        )
        for entry in entries
    ]


def _kept_off(items: Sequence[RejudgeItem]) -> set[int]:
    """Return submissions that can have no line: their kernel is retracted, or their account suspended."""
    submissions = [item.submission for item in items]
    if not submissions:
        return set()
    retracted = retracted_kernels({one.board_id for one in submissions})
    suspended = suspended_users({one.owner_id for one in submissions}, submissions[0].board.competition)
    return {
        one.pk
        for one in submissions
        if (one.board_id, one.entrant_id, one.kernel) in retracted or one.owner_id in suspended
    }


def _line_of(item: RejudgeItem, board: Board) -> Line | None:
    """Return the line that the shadow result would have; None: it would have none."""
    submission, result = item.submission, _result_of(item.after)
    if submission.mode != "ranked" or result is None or not result.ratio or refusal(telemetry=result.telemetry):
        return None
    run = Run(
        ratio=result.ratio,
        half_width=result.half_width,
        forgeable=result.forgeable,
        submitted_at=submission.created_at,
        submission_id=submission.pk,
        entrant_id=submission.entrant_id,
        code=submission.kernel,
    )
    stage = stage_at(board, submission.created_at)
    return Line(board.pk, stage, result.epoch, run, submission.entrant.shown_name)


def _tables(
    lines: Iterable[Line],
    boards: Mapping[int, Board],
    ranked: RankedEpochs,
    level: Sequence[tuple[int, int]],
) -> dict[tuple[int, Stage], Table]:
    grouped: dict[tuple[int, Stage], dict[str, list[Line]]] = {}
    for line in lines:
        grouped.setdefault((line.board_id, line.stage), {}).setdefault(line.epoch, []).append(line)
    return {
        where: _table(epoch, epochs.get(epoch, []), level)
        for where, epochs in grouped.items()
        for epoch in [ranked.of(boards[where[0]], where[1])]
    }


def _table(epoch: str, lines: Sequence[Line], level: Sequence[tuple[int, int]]) -> Table:
    names = {line.run.entrant_id: line.name for line in lines}
    places = rank((line.run for line in lines), level=level)
    ranks = {pk: place.rank for place in places for pk in place.value.submissions}
    podium = tuple(names[place.value.entrant_id] for place in places[:PODIUM])
    return Table(epoch, ranks, podium, frozenset(line.run.submission_id for line in lines))


def _left_behind(before: Table, after: Table, would: Mapping[int, Line]) -> int:
    return sum(1 for pk in before.submissions if pk in would and would[pk].epoch != after.epoch)


def _rejected(attempt_ids: Iterable[int]) -> set[int]:
    """Return the attempts with a result that a person rejected."""
    return {attempt_id for attempt_id, stands in reviews_of(list(attempt_ids)).items() if stands == REJECTED}


def _result_of(attempt: Attempt) -> Result | None:
    return getattr(attempt, "result", None)


def _at(names: Sequence[str], place: int) -> str:
    return names[place] if place < len(names) else ""
