"""Apply a set of re-judgings as a whole: the part of the pipeline (pipeline.py) for many submissions at a time.

Until then its results stay in the shadow (rejudging/sets.py). `compare` shows the effect of a set: each submission
before and after, the boards now and after applying it. It reads and never writes, with a fixed number of queries for a
set of any size. try_rejudging predicts which results would be held for review, because it reads their reports.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Final, NamedTuple

from django.db import connection, transaction

from leaderboard import publication
from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.judging.epochs import RankedEpochs, propose_epoch
from leaderboard.judging.models import UNFINISHED, Attempt, RejudgeItem, RejudgeSet, Result
from leaderboard.judging.verdicts import newest_verdicts
from leaderboard.rejudging import sets
from leaderboard.review.standing import REJECTED, not_standing, reviews_of
from leaderboard.review.suspension import suspended_users
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import publish_all, refusal, retracted_kernels, withdraw_all
from leaderboard.standings.ranking.ranking import TIE, Run, rank
from leaderboard.standings.read.records import PODIUM
from leaderboard.standings.read.table import Levels, level_pairs, run_of, run_of_result, stage_at

_KEEP_FATES: Final = """
    UPDATE judging_rejudgeitem AS item
    SET became = fate.became, rank_before = fate.rank_before, rank_after = fate.rank_after
    FROM unnest(%s::bigint[], %s::text[], %s::integer[], %s::integer[]) AS fate (id, became, rank_before, rank_after)
    WHERE item.id = fate.id
"""


@transaction.atomic
def apply_rejudging(
    *, chosen: RejudgeSet, actor: User, reason: str, now: datetime, leave_out: bool = False, anyway: bool = False
) -> Counter[str] | None:
    """Apply all results of a set at once. Return counts of published, held, …; None: it is applied already.

    Refuses if some attempts are unfinished, unless `leave_out`. Refuses if a board would keep lines in an epoch that it
    then does not rank, unless `anyway`.
    """
    items = sets.begin_applying(chosen=chosen, actor=actor, reason=reason, leave_out=leave_out, now=now)
    if items is None:
        return None
    fates = fates_of(items, sets.lock_currents(items))
    changes = board_changes(items, fates)
    if (behind := sum(change.left_behind for change in changes)) and not anyway:
        text = f"{behind} lines would stay behind in a timing epoch that their board then does not rank; judge them too"
        raise UserError("anyway", behind, f"{text}, or apply it anyway", status=409)
    counts = Counter(fates.values())
    counts.update(_bring_to_light([item.after for item in items if fates[item.pk] == RejudgeItem.APPLIED], now))
    ranks = [ranks_of(items, changes), ranks_of(items, board_changes(items, dict.fromkeys(fates, "")))]
    for item in items:
        item.became, (item.rank_before, item.rank_after) = fates[item.pk], [found[item.pk] for found in ranks]
    columns = [[getattr(item, name) for item in items] for name in ("pk", "became", "rank_before", "rank_after")]
    with connection.cursor() as cursor:
        cursor.execute(_KEEP_FATES, columns)
    sets.settle(chosen, RejudgeSet.APPLIED, actor=actor, reason=reason, now=now, after=dict(counts))
    return counts


def try_rejudging(*, chosen: RejudgeSet, actor: User, now: datetime) -> Counter[str]:
    """Return how many results would be published, held, … if the set were applied now without unjudged submissions.

    The prediction uses a snapshot that delays no transaction: it locks no row, and writes only notices to operators,
    about reports that are gone.
    """
    check_role(actor, chosen.competition, Role.OWNER, "try a re-judging")
    with _snapshot():
        chosen.refresh_from_db()
        if not chosen.is_open:
            raise UserError("rejudge_set", chosen.name, f"is {chosen.state} already", status=409)
        items = sets.items_of(chosen)
        fates = {pk: fate or RejudgeItem.NO_VERDICT for pk, fate in fates_of(items, sets.judged_anew(items)).items()}
        ranked = [
            item.after.result
            for item in items
            if fates[item.pk] == RejudgeItem.APPLIED and item.submission.mode == "ranked"
        ]
        waiting = publication.foresee_held(ranked, now) | not_standing(ranked)
        retracted = retracted_kernels({result.attempt.submission.board_id for result in ranked})
        sound = publication.all_that_may_rank(ranked) - waiting
        published = {
            result.pk
            for result in ranked
            if result.pk in sound and result.attempt.submission.kernel_key not in retracted
        }
        held = {result.pk for result in ranked if publication.could_rank(result)} & waiting
        return Counter(fates.values()) + _counts(ranked, published, held)


@contextmanager
def _snapshot() -> Iterator[None]:
    """Read from a single snapshot of the database. Inside an outer transaction, the outer snapshot applies."""
    is_outermost = not connection.in_atomic_block
    with transaction.atomic():
        if is_outermost:
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield


def _bring_to_light(attempts: list[Attempt], now: datetime) -> Counter[str]:
    """Publish shadow results. All are screened against the board before them, so their order does not matter."""
    results = [attempt.result for attempt in attempts]
    ranked = [result for result in results if result.attempt.submission.mode == "ranked"]
    # Epochs before boards: a report and a decision on epochs lock in this order.
    for hardware, epoch in sorted({(result.attempt.hardware, result.epoch) for result in results}):
        propose_epoch(hardware=hardware, name=epoch, fingerprint={}, now=now)
    publication.lock_all(ranked)
    lights = publication.look_all(ranked, now)
    sound = publication.all_that_may_rank(ranked)
    sets.bring_to_light(attempts, now=now)
    leaders = publication.leaders(result for result in ranked if result.pk in sound)
    published = publish_all(results=[result for result in ranked if result.pk in sound], lights=lights, now=now)
    withdraw_all(submissions=[result.attempt.submission for result in ranked if result.pk not in published])
    held = not_standing(result for result in ranked if publication.could_rank(result)) - published
    counts = _counts(ranked, published, held)
    for result, first in leaders:
        publication.confirm_if_first(result, first, now)
    return counts


def _counts(ranked: list[Result], published: set[int], held: set[int]) -> Counter[str]:
    """Return how many results are published, held or failed, without zeros."""
    return +Counter({"published": len(published), "held": len(held), "failed": len(ranked) - len(published | held)})


class StagedLine(NamedTuple):
    """A line of a board, published or predicted."""

    board_id: int
    stage: Stage
    group: str  # of its entrant
    epoch: str
    run: Run
    name: str  # of its entrant


@dataclass(frozen=True)
class Table:
    """The ranking of a group on a board in a stage, in the epoch that it ranks."""

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
    group: str
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
    items = sets.items_of(chosen)
    fates = fates_of(items, sets.judged_anew(items))
    changes = board_changes(items, fates)
    places = {(change.board.pk, change.stage, change.group): change for change in changes}
    rows = []
    for item in items:
        submission = item.submission
        stage = stage_at(submission.board, submission.created_at)
        change = places.get((submission.board_id, stage, submission.group))
        ranks = (item.rank_before, item.rank_after)
        if not item.became and change is not None:
            ranks = (change.before.ranks.get(submission.pk), change.after.ranks.get(submission.pk))
        before, after = (getattr(attempt, "result", None) for attempt in (item.before, item.after))
        rows.append(Difference(item, fates[item.pk], before, after, *ranks))
    return Comparison(rows, changes)


def fates_of(items: Sequence[RejudgeItem], anew: Set[int]) -> dict[int, str]:
    """Map item ids to the fate on applying, or the stored fate; "": not judged yet. `anew`: of sets.judged_anew."""
    verdicts = newest_verdicts(pk__in=[item.submission_id for item in items])
    standing = dict(verdicts.values_list("attempt__submission_id", "attempt_id"))
    reviews = reviews_of(standing.values())
    fates = {}
    for item in items:
        fates[item.pk] = item.became
        if not item.became and item.after.state not in UNFINISHED:
            is_rejected = reviews.get(standing.get(item.submission_id, 0)) == REJECTED
            fates[item.pk] = sets.fate_of(item, is_judged_anew=item.pk in anew, is_rejected=is_rejected)
    return fates


def board_changes(items: Sequence[RejudgeItem], fates: Mapping[int, str]) -> list[BoardChange]:
    """Return every board, stage and group with submissions of the set, now and after applying it."""
    boards = {item.submission.board_id: item.submission.board for item in items}
    lines = {}
    for entry in Entry.objects.filter(board__in=boards).select_related("entrant"):
        stage = stage_at(boards[entry.board_id], entry.submitted_at)
        group = boards[entry.board_id].competition.group_of(entry.entrant.division)
        line = StagedLine(entry.board_id, stage, group, entry.epoch, run_of(entry), entry.entrant.shown_name)
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
        if submission.owner_id in suspended or submission.kernel_key in retracted or result is None:
            continue
        if submission.mode == "ranked" and result.ratio and not refusal(telemetry=result.telemetry):
            stage, name = stage_at(submission.board, submission.created_at), submission.entrant.shown_name
            where = (submission.board_id, stage, submission.group)
            line = StagedLine(*where, result.epoch, run_of_result(result), name)
            would[submission.pk] = line
    ranked, level = RankedEpochs([*boards.values()]), level_pairs(boards)
    before, after = (_tables(found.values(), boards, ranked, level) for found in (lines, would))
    changes = []
    for board_id, stage, group in sorted(before | after):
        old, new = (tables.get((board_id, stage, group), NO_TABLE) for tables in (before, after))
        behind = sum(pk in would and would[pk].epoch != new.epoch for pk in old.submissions)
        changes.append(BoardChange(boards[board_id], stage, group, old, new, behind))
    return changes


def ranks_of(items: Iterable[RejudgeItem], changes: Iterable[BoardChange]) -> dict[int, int | None]:
    """Map item ids to the present rank of their submission."""
    ranks = {pk: place for change in changes for pk, place in change.before.ranks.items()}
    return {item.pk: ranks.get(item.submission_id) for item in items}


def _tables(
    lines: Iterable[StagedLine], boards: Mapping[int, Board], ranked: RankedEpochs, level: Mapping[int, Levels]
) -> dict[tuple[int, Stage, str], Table]:
    grouped: dict[tuple[int, Stage, str], list[StagedLine]] = defaultdict(list)
    for line in lines:
        grouped[line.board_id, line.stage, line.group].append(line)
    tables = {}
    for (board_id, stage, group), same in grouped.items():
        epoch = ranked.of(boards[board_id], stage)
        ranking = [line for line in same if line.epoch == epoch]
        names = {line.run.entrant_id: line.name for line in ranking}
        places = rank((line.run for line in ranking), level=level.get(board_id, {}).get(epoch, ()))
        ranks = {pk: place.rank for place in places for pk in place.value.submissions}
        podium = tuple(names[place.value.entrant_id] for place in places[:PODIUM])
        submissions = frozenset(line.run.submission_id for line in ranking)
        tables[board_id, stage, group] = Table(epoch, ranks, podium, submissions)
    return tables
