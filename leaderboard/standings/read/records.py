"""First places and whether they are confirmed: which confirmations bear on a board's leader, and who led before.

A record that was refused is a tie: five runs with both in the blocks could not tell the two apart, and that is better
evidence than two runs of their own, each beside the baseline (docs/records.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from django.db.models import F

from leaderboard.competitions.calendar import Stage, window_of
from leaderboard.competitions.models import Board
from leaderboard.confirmations.models import CONFIRMED, REFUSED, Confirmation
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.level import level_pairs
from leaderboard.standings.ranking.ranking import Place, Value
from leaderboard.standings.read.leader import leading_places
from leaderboard.standings.read.windows import inside, stage_at

NOT_YET: Final = "record not confirmed yet"
CONFIRMED_MARK: Final = "record confirmed"
CLOSED_MARK: Final = "record not confirmed"  # by the runs; a person closed it all the same


def contest_leader(*, board: Board, epoch: str, submitted_at: datetime) -> Value | None:
    """Who stands first in the contest; None where nobody does, or where `submitted_at` lies outside of it."""
    if stage_at(board, submitted_at) is not Stage.CONTEST:
        return None
    contest = window_of(board.competition.schedule, Stage.CONTEST, board_deadline=board.deadline)
    entries = Entry.objects.filter(inside(contest), board=board, epoch=epoch)
    places = leading_places(entries, level_pairs([board.pk]).get(board.pk, ()))
    return places[0].value if places else None


def marks(first: Sequence[Place], asked_before: datetime | None = None) -> dict[int, str]:
    """First submission → what a board says of the record of who stands first: one query; nothing where there is none.

    `asked_before`: the freeze, for who sees the standing as it was then: what is asked later tells of what is hidden.
    Whoever took first place from nobody is not marked, nor is who did not get it: they are tied. What was asked of an
    earlier version of the problem says nothing of today's.
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
