"""Re-judge a submission for an organiser: a new attempt that leaves the old attempt unchanged."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.judging.enqueue import enqueue
from leaderboard.judging.models import REJUDGE, Attempt, Runner
from leaderboard.judging.states import UNFINISHED
from leaderboard.submissions.models import Submission


@transaction.atomic
def rejudge(
    *, submission: Submission, actor: User, reason: str, now: datetime, away_from: Runner | None = None
) -> Attempt:
    """Queue a new attempt of the submission and record the act.

    `away_from` names a runner that gets the attempt only if no other runner is alive.
    """
    check_role(actor, submission.board.competition, Role.REVIEWER, "re-judge a submission")
    check_reason(reason)
    old = Attempt.objects.select_for_update().get(submission=submission, is_current=True)
    if old.state in UNFINISHED:
        raise UserError("submission", submission.pk, f"still {old.state}; wait until it is judged", status=409)
    attempt = enqueue(
        submission=submission, now=now, cause=REJUDGE, message="Queued to be judged again", away_from=away_from
    )
    record(
        act="rejudge",
        target=submission,
        actor=actor,
        reason=reason,
        now=now,
        before={"attempt": old.pk, "outcome": old.outcome},
        after={"attempt": attempt.pk},
    )
    return attempt
