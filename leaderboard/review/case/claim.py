"""A reviewer claims a case for a while, so that two do not read the same case; and releases it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.errors import UserError
from leaderboard.judging.models import Result
from leaderboard.review.case import log, states
from leaderboard.review.models import Decision

LASTS: Final = timedelta(minutes=30)
TO_READ: Final = "to read it"  # a free case can be claimed without a written reason


@transaction.atomic
def claim(*, result: Result, actor: User, now: datetime, reason: str = "") -> Decision:
    """Claim a case. The holder may claim again to prolong; taking a claim from another reviewer needs a reason."""
    taken = log.take(result=result, act=states.CLAIM, actor=actor, reason=reason or TO_READ, now=now)
    holder = taken.standing.claim_at(now)
    if holder is not None and holder.by != actor.account_id and not reason.strip():
        raise UserError("reason", reason, "another reviewer has claimed it; say why you take it over", status=409)
    return log.append(
        taken, act=states.CLAIM, actor=actor, reason=reason.strip() or TO_READ, now=now, until=now + LASTS
    )


@transaction.atomic
def release(*, result: Result, actor: User, now: datetime) -> Decision:
    taken = log.take(result=result, act=states.RELEASE, actor=actor, reason="done with it", now=now)
    return log.append(taken, act=states.RELEASE, actor=actor, reason="done with it", now=now)
