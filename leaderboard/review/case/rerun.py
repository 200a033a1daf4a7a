"""A reviewer has a held result judged again before deciding.

The rerun is an ordinary new attempt, on another device if a live one exists. It gets a new case if it is held.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.judging.attempts import rejudge
from leaderboard.judging.models import Attempt, Result
from leaderboard.review.case import log, states


@transaction.atomic
def rerun(*, result: Result, actor: User, reason: str, now: datetime) -> Attempt:
    """Queue a new attempt. The reason notes the previous runner, so that a reader sees whether the device differs."""
    taken = log.take(result=result, act=states.RERUN, actor=actor, reason=reason, now=now)
    runner = result.attempt.runner
    noted = f"{reason} (last judged by {runner.name if runner else 'an unknown runner'})"[:2000]
    log.append(taken, act=states.RERUN, actor=actor, reason=noted, now=now)
    return rejudge(submission=taken.submission, actor=actor, reason=noted, now=now, away_from=runner)
