"""Ask for a confirmation: a runner of the board's hardware makes the runs when it has nothing more urgent."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard import broker
from leaderboard.accounts.models import User
from leaderboard.audit.record import record
from leaderboard.competitions.models import Board
from leaderboard.confirmations.models import CONFIRMED, DROPPED, RECORD, REFUSED, Confirmation
from leaderboard.errors import UserError
from leaderboard.judging.work import DONE, QUEUED
from leaderboard.submissions.models import Submission

OVERTAKEN = "Another submission took first place before this was begun"


@transaction.atomic
def ask_confirmation(
    *, candidate: Submission, incumbent: Submission, cause: str, actor: User | None, now: datetime, reason: str = ""
) -> Confirmation:
    """Create a confirmation, or return the pair's unfinished confirmation. `actor` None: the site asks by itself.

    The site does not repeat a record's confirmation of a pair that is already decided: a line that comes back took its
    place before. The callers check permissions (pipeline, review.settle, awards.life).
    """
    if candidate.board_id != incumbent.board_id or candidate.entrant_id == incumbent.entrant_id:
        raise UserError("incumbent", incumbent.pk, "a record is taken from another entrant, on one board")
    board = Board.objects.select_for_update(no_key=True).get(pk=candidate.board_id)  # serialises requests of a board
    waiting = Confirmation.objects.filter(candidate=candidate, incumbent=incumbent).exclude(state=DONE).first()
    if waiting is not None:
        if cause != RECORD and waiting.cause == RECORD and waiting.state == QUEUED:
            waiting.cause = cause  # a prize waits for it: unlike a record, it is neither paused nor dropped
            waiting.save(update_fields=["cause"])
            _ring(waiting)
        return waiting
    if cause == RECORD and actor is None:
        decided = _decided(board, candidate, incumbent)
        if decided is not None:
            return decided
        _drop_overtaken(board, now)
    asked = Confirmation.objects.create(
        board=board,
        candidate=candidate,
        incumbent=incumbent,
        version_id=board.version_id,
        hardware=board.hardware,
        cause=cause,
        asked_by=actor,
        created_at=now,
    )
    told = {"candidate": candidate.pk, "incumbent": incumbent.pk, "cause": cause}
    record(act="ask_confirmation", target=asked, actor=actor, reason=reason, now=now, after=told)
    _ring(asked)
    return asked


def _ring(asked: Confirmation) -> None:
    transaction.on_commit(lambda: broker.ring(hardware=asked.hardware, hint=asked.attempt_id))


def _decided(board: Board, candidate: Submission, incumbent: Submission) -> Confirmation | None:
    of_pair = Confirmation.objects.filter(candidate=candidate, incumbent=incumbent, version=board.version_id)
    return of_pair.filter(outcome__in=(CONFIRMED, REFUSED)).order_by("-id").first()


def _drop_overtaken(board: Board, now: datetime) -> None:
    """Drop the board's waiting record: its candidate was overtaken. A board has at most one waiting record."""
    waiting = Confirmation.objects.filter(board=board, cause=RECORD, state=QUEUED)
    waiting.update(state=DONE, outcome=DROPPED, message=OVERTAKEN, finished_at=now)
