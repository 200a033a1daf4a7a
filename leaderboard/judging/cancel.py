"""Cancellation of an unfinished attempt by its owner or an organiser. Its runner learns of it at the next renewal."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason, check_staff
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.judging import events
from leaderboard.judging.models import REJUDGE, Attempt
from leaderboard.judging.states import CANCELLED, UNFINISHED, check_move
from leaderboard.submissions.models import Submission


def may_cancel(submission: Submission, actor: User) -> bool:
    """Return whether `actor` may cancel: any login of the owner's account, or staff.

    After an organiser's request to judge the submission again, only staff may cancel. Team mates may only watch.
    """
    if actor.is_active and (actor.is_staff or actor.is_superuser):
        return True
    is_asked_by_us = submission.attempts.in_the_open().filter(cause=REJUDGE).exists()
    return submission.owner.account_id == actor.account_id and not is_asked_by_us


@transaction.atomic
def cancel(*, submission: Submission, actor: User, reason: str, now: datetime) -> Attempt:
    if not may_cancel(submission, actor):
        check_staff(actor, "cancel another person's submission, or what is judged again")
    check_reason(reason)
    attempt = Attempt.objects.select_for_update().get(submission=submission, is_current=True)
    if attempt.state not in UNFINISHED:
        raise UserError("submission", submission.pk, f"already {attempt.state}", status=409)
    before = attempt.state
    check_move(before, CANCELLED)
    attempt.state, attempt.finished_at = CANCELLED, now
    attempt.save(update_fields=["state", "finished_at"])
    events.append_state(attempt, now=now, message="Cancelled")
    record(act="cancel", target=attempt, actor=actor, reason=reason, now=now, before={"state": before})
    return attempt
