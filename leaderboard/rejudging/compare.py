"""The effect of a re-judging set: each submission before and after, the boards now and after applying it.

Reads and never writes; a fixed number of queries for a set of any size. apply.try_rejudging predicts which results
would be held for review, because it reads their reports.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final, NamedTuple

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.models import UNFINISHED, RejudgeItem, RejudgeSet, Result
from leaderboard.rejudging.sets import currents_of, fate_of, items_of
from leaderboard.review.standing import REJECTED, reviews_of
from leaderboard.review.suspension import suspended_users
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import kernel_of, refusal, retracted_kernels
from leaderboard.standings.ranking.ranking import TIE, Run, rank
from leaderboard.standings.read.records import PODIUM
from leaderboard.standings.read.table import level_pairs, run_of, run_of_result
from leaderboard.standings.read.windows import stage_at


class StagedLine(NamedTuple):
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
        pairs = zip_longest(self.before.podium, self.after.podium, fillvalue="")
        return [(place, old, new) for place, (old, new) in enumerate(pairs, start=1) if old != new]


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


def compare(chosen: RejudgeSet) -> Comparison:
    """Compare as of now; for an applied set, return the stored fates and ranks."""
    items = items_of(chosen)
    fates = fates_of(items, currents_of(chosen))
    changes = board_changes(items, fates)
    places = {(change.board.pk, change.stage): change for change in changes}
    rows = []
    for item in items:
        submission = item.submission
        change = places.get((submission.board_id, stage_at(submission.board, submission.created_at)))
        ranks = (item.rank_before, item.rank_after)
        if not item.became and change is not None:
            ranks = (change.before.ranks.get(submission.pk), change.after.ranks.get(submission.pk))
        before, after = (getattr(attempt, "result", None) for attempt in (item.before, item.after))
        rows.append(Difference(item, fates[item.pk], before, after, *ranks))
    return Comparison(rows, changes)


def fates_of(items: Sequence[RejudgeItem], currents: Mapping[int, int]) -> dict[int, str]:
    """Map item ids to the fate on applying, or the stored fate; "": not judged yet."""
    reviews = reviews_of([item.before_id for item in items])
    fates = {}
    for item in items:
        fates[item.pk] = item.became
        if not item.became and item.after.state not in UNFINISHED:
            is_rejected = reviews.get(item.before_id) == REJECTED
            fates[item.pk] = fate_of(item, current_id=currents.get(item.submission_id), is_rejected=is_rejected)
    return fates


def board_changes(items: Sequence[RejudgeItem], fates: Mapping[int, str]) -> list[BoardChange]:
    """Return every board and stage with submissions of the set, now and after applying it."""
    boards = {item.submission.board_id: item.submission.board for item in items}
    lines = {}
    for entry in Entry.objects.filter(board__in=boards).select_related("entrant"):
        stage = stage_at(boards[entry.board_id], entry.submitted_at)
        line = StagedLine(entry.board_id, stage, entry.epoch, run_of(entry), entry.entrant.shown_name)
        lines[entry.submission_id] = line
    changed = [item for item in items if fates[item.pk] == RejudgeItem.APPLIED and not item.became]
    would = dict(lines)
    if changed:
        retracted = retracted_kernels(boards)
        owners = {item.submission.owner_id for item in changed}
        suspended = suspended_users(owners, changed[0].submission.board.competition)
    for item in changed:
        submission, result = item.submission, getattr(item.after, "result", None)
        would.pop(submission.pk, None)
        if submission.owner_id in suspended or kernel_of(submission) in retracted or result is None:
            continue
        if submission.mode == "ranked" and result.ratio and not refusal(telemetry=result.telemetry):
            stage, name = stage_at(submission.board, submission.created_at), submission.entrant.shown_name
            line = StagedLine(submission.board_id, stage, result.epoch, run_of_result(result), name)
            would[submission.pk] = line
    ranked, level = RankedEpochs([*boards.values()]), [pair for pairs in level_pairs(boards).values() for pair in pairs]
    before, after = (_tables(found.values(), boards, ranked, level) for found in (lines, would))
    changes = []
    for board_id, stage in sorted(before | after):
        old, new = (tables.get((board_id, stage), NO_TABLE) for tables in (before, after))
        behind = sum(pk in would and would[pk].epoch != new.epoch for pk in old.submissions)
        changes.append(BoardChange(boards[board_id], stage, old, new, behind))
    return changes


def ranks_of(items: Iterable[RejudgeItem], changes: Iterable[BoardChange]) -> dict[int, int | None]:
    """Map item ids to the present rank of their submission."""
    ranks = {pk: place for change in changes for pk, place in change.before.ranks.items()}
    return {item.pk: ranks.get(item.submission_id) for item in items}


def _tables(
    lines: Iterable[StagedLine], boards: Mapping[int, Board], ranked: RankedEpochs, level: Sequence[tuple[int, int]]
) -> dict[tuple[int, Stage], Table]:
    grouped: dict[tuple[int, Stage], list[StagedLine]] = defaultdict(list)
    for line in lines:
        grouped[line.board_id, line.stage].append(line)
    tables = {}
    for (board_id, stage), same in grouped.items():
        epoch = ranked.of(boards[board_id], stage)
        ranking = [line for line in same if line.epoch == epoch]
        names = {line.run.entrant_id: line.name for line in ranking}
        places = rank((line.run for line in ranking), level=level)
        ranks = {pk: place.rank for place in places for pk in place.value.submissions}
        podium = tuple(names[place.value.entrant_id] for place in places[:PODIUM])
        submissions = frozenset(line.run.submission_id for line in ranking)
        tables[board_id, stage] = Table(epoch, ranks, podium, submissions)
    return tables
