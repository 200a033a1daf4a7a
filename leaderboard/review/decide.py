"""A person decides on a held result: once, with a reason, on the record. Publishing it is pipeline's next step."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason, check_staff
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.judging.models import Attempt, Result
from leaderboard.review.models import Decision


@transaction.atomic
def decide(*, result: Result, act: str, actor: User, reason: str, now: datetime) -> Decision:
    check_staff(actor, f"{act} a held result")
    check_reason(reason)
    attempt = Attempt.objects.select_for_update().get(pk=result.attempt_id)  # two organisers at once: one waits here
    if not result.findings.exists():
        raise UserError("result", result.pk, "was never held, so there is nothing to decide", status=409)
    if not attempt.is_current:
        raise UserError(
            "result", result.pk, "is of an attempt that was judged again since; see the new one", status=409
        )
    if Decision.objects.filter(result=result).exists():
        raise UserError("result", result.pk, "is decided already", status=409)
    decision = Decision.objects.create(result=result, actor=actor, act=act, reason=reason, created_at=now)
    record(
        act=f"{act}_result",
        target=result,
        actor=actor,
        reason=reason,
        now=now,
        before={"review": "under_review"},
        after={"review": act, "submission": attempt.submission_id},
    )
    return decision
