"""A person decides on a case, with a logged reason, and can undo the decision. pipeline applies the consequences.

One person clears a case. Two different people must clear it if its line would stand on the podium and the competition
requires that. Neither may be its owner or in the owner's team.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import MAX_REASON_CHARS
from leaderboard.errors import UserError
from leaderboard.judging.models import Result
from leaderboard.review.case import log, states
from leaderboard.review.models import Decision
from leaderboard.review.reasons import check_code


@transaction.atomic
def clear(
    *,
    result: Result,
    actor: User,
    reason: str,
    now: datetime,
    rank: int | None = None,
    needs_two: bool = False,
    public_reason: str = "",
    seen: int | None = None,
) -> Decision:
    """Clear a held result. `rank`: its line's future place, from standings.podium."""
    check_public(public_reason)
    taken = log.take(result=result, act=states.CLEAR, actor=actor, reason=reason, now=now, seen=seen)
    told = {"rank": rank, "needs_two": needs_two, "public_reason": public_reason.strip()}
    return log.append(taken, act=states.CLEAR, actor=actor, reason=reason, now=now, **told)


@transaction.atomic
def reject(
    *,
    result: Result,
    actor: User,
    code: str,
    reason: str,
    now: datetime,
    rank: int | None = None,
    public_reason: str = "",
    seen: int | None = None,
) -> Decision:
    """Reject a held result. The owner reads code and reason, and may appeal."""
    check_code(code)
    check_public(public_reason)
    taken = log.take(result=result, act=states.REJECT, actor=actor, reason=reason, now=now, seen=seen)
    told = {"code": code, "rank": rank, "public_reason": public_reason.strip()}
    return log.append(taken, act=states.REJECT, actor=actor, reason=reason, now=now, **told)


@transaction.atomic
def overturn(*, result: Result, actor: User, reason: str, now: datetime, seen: int | None = None) -> Decision:
    """Overturn a verdict that rejected by itself: the result waits for a decision like any held result."""
    taken = log.take(result=result, act=states.OVERTURN, actor=actor, reason=reason, now=now, seen=seen)
    return log.append(taken, act=states.OVERTURN, actor=actor, reason=reason, now=now)


@transaction.atomic
def undo(*, result: Result, actor: User, reason: str, now: datetime, seen: int | None = None) -> Decision:
    """Undo the last decision, with its answer or appeal. The lines stay in the log but no longer count."""
    taken = log.take(result=result, act=states.UNDO, actor=actor, reason=reason, now=now, seen=seen)
    return log.append(taken, act=states.UNDO, actor=actor, reason=reason, now=now, about_id=taken.standing.last)


def check_public(text: str) -> None:
    if len(text) > MAX_REASON_CHARS or "\x00" in text:
        raise UserError("public_reason", text, f"has at most {MAX_REASON_CHARS:,} characters")
