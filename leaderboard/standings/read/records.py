"""First places and their confirmation: the leader, the confirmations of its record, and the rank of a new result.

A refused record is a tie: five runs with both in the blocks could not distinguish the two, and that is better
evidence than two separate runs, each beside the baseline (docs/records.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.db.models import F

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board
from leaderboard.confirmations.models import CONFIRMED, REFUSED, Confirmation
from leaderboard.judging.models import Result
from leaderboard.review.integrity import PODIUM as PODIUM
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.ranking import Place, Value, rank
from leaderboard.standings.read.leader import leading_places
from leaderboard.standings.read.table import level_pairs, run_of, run_of_result
from leaderboard.standings.read.windows import inside, stage_at, whole_window

NOT_YET: Final = "record not confirmed yet"
CONFIRMED_MARK: Final = "record confirmed"
CLOSED_MARK: Final = "record not confirmed"  # by the runs; a person has closed it


def contest_leader(*, board: Board, epoch: str, submitted_at: datetime) -> Value | None:
    """Return the contest's leader; None: no leader, or `submitted_at` lies outside the contest."""
    if stage_at(board, submitted_at) is not Stage.CONTEST:
        return None
    entries = Entry.objects.filter(inside(whole_window(board, Stage.CONTEST)), board=board, epoch=epoch)
    places = leading_places(entries, level_pairs([board.pk]).get(board.pk, ()))
    return places[0].value if places else None


def marks(first: Sequence[Place], asked_before: datetime | None = None) -> dict[int, str]:
    """Map the leader's first submission to the board's note on its record: one query; empty without a record.

    `asked_before`: time of the freeze, for viewers of the frozen standing: later confirmations would reveal hidden
    lines. An entrant who took first place from no previous leader has no mark, nor has a refused candidate: it is tied.
    Confirmations of an earlier version of the problem do not count.
    """
    leader = first[0].value.submissions if first else ()
    asked = Confirmation.objects.filter(candidate__in=leader, version=F("board__version")).order_by("-id")
    asked = asked if asked_before is None else asked.filter(created_at__lt=asked_before)
    newest = asked.first() if leader else None
    if newest is None or newest.outcome == REFUSED:
        return {}
    if newest.outcome == CONFIRMED:
        return {leader[0]: CONFIRMED_MARK}
    return {leader[0]: NOT_YET if newest.closed_at is None else CLOSED_MARK}


def would_rank(result: Result) -> int | None:
    """Return its rank among its epoch's and stage's lines, also frozen; None: no rank, or behind its entrant's own."""
    if result.ratio is None:
        return None
    submission = result.attempt.submission
    board = submission.board
    counted = whole_window(board, stage_at(board, submission.created_at))
    entries = Entry.objects.filter(inside(counted), board=board, epoch=result.epoch)
    runs = [run_of(entry) for entry in entries.exclude(submission=submission)]
    places = rank([*runs, run_of_result(result)], level=level_pairs([board.pk]).get(board.pk, ()))
    return next((place.rank for place in places if submission.pk in place.value.submissions), None)
