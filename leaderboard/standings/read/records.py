"""First places and their confirmation: the leader, the confirmations of its record, and the rank of a new result.

A report asks for the leader, so the front of a board is read from the fastest run on, only as far as it is needed: the
cost depends on the number of lines in front, not on the number behind.

A refused record is a tie: five runs with both in the blocks could not distinguish the two, and that is better
evidence than two separate runs, each beside the baseline (docs/records.md).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from heapq import heappop, heappush
from math import inf
from typing import Final

from django.db.models import F, Q, QuerySet

from leaderboard.competitions.calendar import Stage
from leaderboard.confirmations.models import CONFIRMED, REFUSED, Confirmation
from leaderboard.entrants.models import in_group
from leaderboard.judging.models import Result
from leaderboard.review.integrity import PODIUM as PODIUM
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.ranking import (
    Field,
    Place,
    Run,
    Value,
    are_tied,
    group_at,
    holder,
    order,
    pairs_of,
    pool,
    rank,
)
from leaderboard.standings.read.table import COLUMNS, inside, level_pairs, run_of, run_of_result, stage_at, whole_window
from leaderboard.submissions.models import Submission

AT_FIRST: Final = 16  # runs in the first query; each further query takes twice as many
NOT_YET: Final = "record not confirmed yet"
CONFIRMED_MARK: Final = "record confirmed"
CLOSED_MARK: Final = "record not confirmed"  # by the runs; a person has closed it


def contest_leader(submission: Submission, epoch: str) -> Value | None:
    """Return the holder of first place of the submission's group; None: no line, or it was sent outside the contest."""
    board = submission.board
    if stage_at(board, submission.created_at) is not Stage.CONTEST:
        return None
    counted = inside(whole_window(board, Stage.CONTEST)) & in_group(submission.group)
    entries = Entry.objects.filter(counted, board=board, epoch=epoch)
    places = leading_places(entries, level_pairs([board.pk]).get(board.pk, {}).get(epoch, ()))
    return holder(places).value if places else None


def leading_places(entries: QuerySet[Entry], level: Sequence[tuple[int, int]]) -> list[Place]:
    """Return the places that share the first rank; empty without lines. `level`: as for `rank`."""
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
    return group_at(lines, 0, own, pairs_of(level)) if lines else []


def _last_level(entries: QuerySet[Entry], leader: Value, level: Sequence[tuple[int, int]]) -> tuple[object, ...]:
    """Return the order of the last line that a confirmation could not distinguish from the leader's."""
    level_with = {pk for pair in level if set(pair) & set(leader.submissions) for pk in pair}
    if not level_with:
        return order(leader)
    entrants = set(entries.filter(submission__in=level_with).order_by().values_list("entrant", flat=True))
    lines = [values[0] for values in _values_of(entries, entrants)]
    return max(order(line) for line in [leader, *lines] if line is leader or level_with & set(line.submissions))


def front(entries: QuerySet[Entry]) -> Iterator[Sequence[Value]]:
    """Yield the values of each entrant, best first, in the order of entrants' best.

    `entries`: of a single board and epoch. A value is the mean of its runs, so no entrant has a value faster than their
    fastest run: an entrant without a run among the rows read is behind every value that is faster than the last of
    these rows.
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


def _values_of(entries: QuerySet[Entry], entrants: set[int]) -> list[list[Value]]:
    runs: dict[int, list[Run]] = defaultdict(list)
    for row in entries.filter(entrant__in=entrants).order_by().values_list(*COLUMNS) if entrants else ():
        run = Run(*row)
        runs[run.entrant_id].append(run)
    return [pool(own) for own in runs.values()]


def incumbent_ratios(*, board: int, epoch: str, group: str, submissions: Iterable[int]) -> dict[int, float | None]:
    """Map each submission to the best published value of their group in this epoch, without the submission's run.

    It covers every stage and lines that are not shown. For screening alone: while the board is frozen, the value must
    reach only reviewers.
    """
    rows = Entry.objects.filter(in_group(group), board=board, epoch=epoch).order_by().values_list(*COLUMNS)
    field = Field(Run(*row) for row in rows)
    return {submission: field.best_without(submission) for submission in submissions}


def incumbent_ratio(*, epoch: str, without: Submission) -> float | None:
    """Return incumbent_ratios for a single submission, at a cost independent of the number of lines."""
    others = Entry.objects.filter(in_group(without.group), board=without.board_id, epoch=epoch)
    others = others.exclude(submission=without)
    return next((values[0].ratio for values in front(others)), None)


def marks(first: Sequence[Place], epoch: str, asked_before: datetime | None = None) -> dict[int, str]:
    """Map the holder's first submission to the board's note on its record: one query; empty without a record.

    `asked_before`: time of the freeze, for viewers of the frozen standing: later confirmations would reveal hidden
    lines. An entrant who took first place from no previous leader has no mark, nor has a refused candidate: it is tied.
    Confirmations of an earlier version of the problem do not count, nor those of another epoch than the places'.
    """
    leader = holder(first).value.submissions if first else ()
    here = Q(found=None) | Q(found__epoch=epoch)
    asked = Confirmation.objects.filter(here, candidate__in=leader, version=F("board__version")).order_by("-id")
    asked = asked if asked_before is None else asked.filter(created_at__lt=asked_before)
    newest = asked.first() if leader else None
    if newest is None or newest.outcome == REFUSED:
        return {}
    if newest.outcome == CONFIRMED:
        return {leader[0]: CONFIRMED_MARK}
    return {leader[0]: NOT_YET if newest.closed_at is None else CLOSED_MARK}


def would_rank(result: Result) -> int | None:
    """Return its rank in its group, epoch and stage, also frozen; None: no rank, or behind its entrant's own."""
    if result.ratio is None:
        return None
    submission = result.attempt.submission
    board = submission.board
    counted = inside(whole_window(board, stage_at(board, submission.created_at))) & in_group(submission.group)
    entries = Entry.objects.filter(counted, board=board, epoch=result.epoch)
    runs = [run_of(entry) for entry in entries.exclude(submission=submission)]
    level = level_pairs([board.pk]).get(board.pk, {}).get(result.epoch, ())
    places = rank([*runs, run_of_result(result)], level=level)
    return next((place.rank for place in places if submission.pk in place.value.submissions), None)
