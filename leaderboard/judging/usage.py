"""Quota usage of an owner, and refunds where we failed to judge."""

from __future__ import annotations

from datetime import datetime

from django.db.models import Exists, OuterRef

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.judging.models import REJUDGE, Attempt
from leaderboard.judging.remeasure import is_spoiled
from leaderboard.submissions.ledger import give_back
from leaderboard.submissions.models import QuotaLine, Submission
from leaderboard.submissions.quota import WINDOW, Usage


def usage_of(owner: User, *, now: datetime) -> Usage:
    """Return recent and unfinished submissions of the owner, over all logins of the account.

    Re-judging requested by an organiser does not count as an unfinished submission.
    """
    recent = (
        Submission.objects.filter(owner__in=logins_of(owner), created_at__gt=now - WINDOW)
        .exclude(quota_lines__act=QuotaLine.GIVEN_BACK)
        .order_by("created_at")
        .values_list("created_at", flat=True)
    )
    unfinished = Attempt.objects.current().unfinished().filter(submission__owner__in=logins_of(owner))
    by_us = Attempt.objects.in_the_open().filter(submission=OuterRef("submission"), cause=REJUDGE)
    return Usage(recent=list(recent), unfinished=unfinished.exclude(Exists(by_us)).count())


def give_back_if_ours(attempt: Attempt, *, now: datetime) -> bool:
    """Refund the quota of a submission that ends without a verdict by our fault; return whether it was refunded.

    There is no refund while another attempt follows. A submission that an organiser has judged again had its verdict
    before and gets no refund. Shadow attempts cost nothing.
    """
    failed = attempt.outcome == "infra_error" or is_spoiled(attempt.outcome, attempt.reason)
    row = Attempt.objects.of_line(attempt)
    if (
        attempt.is_shadow
        or not failed
        or row.filter(number__gt=attempt.number).exists()
        or row.filter(cause=REJUDGE).exists()
    ):
        return False
    return give_back(submission=attempt.submission, now=now)
