"""Create an attempt of a submission. Row and event commit together, then the bell rings."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard import broker
from leaderboard.judging import events
from leaderboard.judging.models import FIRST, Attempt, Runner
from leaderboard.submissions.models import Submission


@transaction.atomic
def enqueue(
    *,
    submission: Submission,
    now: datetime,
    cause: str = FIRST,
    losses: int = 0,
    message: str = "",
    away_from: Runner | None = None,
    not_before: datetime | None = None,
) -> Attempt:
    """Queue a new current attempt of the submission, for the board's current version of the problem.

    `away_from` names a runner that gets the attempt only if no other runner is alive; the replacement of a lost attempt
    keeps this restriction. The caller must have finished and locked the current attempt; the database refuses a second
    current attempt. Before `not_before` no runner can claim the attempt; afterwards the sweeper rings for it.
    """
    board = submission.board
    last = submission.attempts.in_the_open().order_by("-number").first()
    if last is not None:
        submission.attempts.filter(is_current=True).update(is_current=False)
    attempt = Attempt.objects.create(
        submission=submission,
        owner_id=submission.owner_id,
        is_ranked=submission.mode == "ranked",
        sent_at=submission.created_at,
        number=1 if last is None else last.number + 1,
        cause=cause,
        losses=losses,
        hardware=board.hardware,
        away_from=last.away_from if last is not None and losses else away_from,
        version_id=board.version_id,
        created_at=now,
        not_before=not_before,
    )
    events.append_state(attempt, now=now, message=message)
    if not_before is None or not_before <= now:
        transaction.on_commit(lambda: ring_for(attempt))
    return attempt


def ring_for(attempt: Attempt) -> None:
    broker.ring(hardware=attempt.hardware, hint=str(attempt.pk))
