"""The owner appeals against a rejection, once and in time; a reviewer who did not reject it answers.

If the appeal is granted, the case waits again and is decided as usual; if it is upheld, the rejection is final.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.errors import UserError
from leaderboard.judging.models import Result
from leaderboard.review.case import log, states
from leaderboard.review.models import Case, Decision

WITHIN: Final = timedelta(days=14)  # after the rejection


@transaction.atomic
def appeal(*, result: Result, actor: User, text: str, now: datetime) -> Decision:
    taken = log.take(result=result, act=states.APPEAL, actor=actor, reason=text, now=now)
    until = appeal_until(taken.row, taken.standing)
    if until is not None and until <= now:
        raise UserError("text", text, f"could be appealed against until {until:%Y-%m-%d %H:%M} UTC", status=409)
    return log.append(taken, act=states.APPEAL, actor=actor, reason=text, now=now, about_id=taken.standing.rejection)


@transaction.atomic
def answer_appeal(
    *, result: Result, actor: User, granted: bool, reason: str, now: datetime, seen: int | None = None
) -> Decision:
    act = states.GRANT if granted else states.UPHOLD
    taken = log.take(result=result, act=act, actor=actor, reason=reason, now=now, seen=seen)
    rejected = Decision.objects.filter(pk=taken.standing.rejection or 0).first()
    if rejected is not None and rejected.actor_id == actor.account_id:
        said = "took the decision that is appealed against; another reviewer answers"
        raise UserError("actor", actor.get_username(), said, status=403)
    return log.append(taken, act=act, actor=actor, reason=reason, now=now, about_id=taken.standing.appeal)


def appeal_until(row: Case, standing: states.Standing) -> datetime | None:
    """Return the end of the time to appeal; None: no rejection is open to appeal."""
    if standing.state != states.REJECTED or standing.appeal is not None:
        return None
    rejected = Decision.objects.filter(pk=standing.rejection or 0).values_list("created_at", flat=True).first()
    return (rejected or row.opened_at) + WITHIN
