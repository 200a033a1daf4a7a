"""Faults of the site: further attempts after a spoiled measurement, and refunds of quota.

Noise is the site's problem. After a measurement that a disturbed, unfit or overloaded machine spoiled, the next attempt
follows automatically. It waits, each time twice as long as before, then stands at the end of the queue; another runner
of the hardware takes it if there is one. It costs the owner nothing: the submission counts once, and after the last try
its token comes back.

A further attempt cannot be requested. It follows from a verdict that the judge reaches only by its own figures: the
baseline beside the kernel scattered too, or foreign programs kept a container from the processor until a time limit ran
out. Any other verdict ends the tries.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.judging.attempts import follow
from leaderboard.judging.models import FIRST, REJUDGE, REMEASURE, Attempt
from leaderboard.submissions.ledger import give_back
from leaderboard.submissions.models import QuotaLine, Submission
from leaderboard.submissions.quota import WINDOW, Usage

SPOILED: Final = ("voids", "device_unfit", "unsteady", "starved")  # reasons of `unmeasurable` that the machine causes
MOST: Final = 3  # further attempts; then the submission is shown as it is, with its measurements
WHY: Final = {"device_unfit": "the machine was not fit", "starved": "the machine was overloaded"}
DISTURBED: Final = "the machine was disturbed"


def is_spoiled(outcome: str, reason: str) -> bool:
    return outcome == "unmeasurable" and reason in SPOILED


def measure_again(*, attempt: Attempt, now: datetime) -> Attempt | None:
    """Queue the next attempt after a spoiled attempt; return None after the last try."""
    tried = spoiled_tries(attempt).count()
    if tried > MOST:
        return None
    message = f"Judged again soon: {next_try(attempt.reason, tried)}"
    wait = timedelta(seconds=settings.REMEASURE_AFTER_S) * 2 ** (tried - 1)
    return follow(attempt, now=now, cause=REMEASURE, message=message, not_before=now + wait)


def next_try(reason: str, tried: int) -> str:
    """Return the reason and number of the next try, after `tried` tries of which `reason` spoiled the last."""
    return f"{WHY.get(reason, DISTURBED)} (try {tried + 1} of {MOST + 1})"


def spoiled_tries(attempt: Attempt) -> QuerySet[Attempt]:
    """Return the spoiled attempts since the submission was sent, or since an organiser last asked to judge it again."""
    row = Attempt.objects.of_line(attempt)
    began = row.filter(cause__in=(FIRST, REJUDGE)).order_by("-number").values_list("number", flat=True)[0]
    return row.filter(number__gte=began, outcome="unmeasurable", reason__in=SPOILED)


def usage_of(owner: User, *, now: datetime) -> Usage:
    """Return recent and unfinished submissions of the owner, over all logins of the account.

    Re-judging requested by an organiser does not count as an unfinished submission.
    """
    sent = Submission.objects.filter(owner__in=logins_of(owner), created_at__gt=now - WINDOW).order_by("created_at")
    recent = sent.exclude(quota_lines__act=QuotaLine.GIVEN_BACK).values_list("created_at", flat=True)
    unfinished = Attempt.objects.current().unfinished().filter(submission__owner__in=logins_of(owner))
    by_us = Attempt.objects.in_the_open().filter(submission=OuterRef("submission"), cause=REJUDGE)
    return Usage(recent=list(recent), unfinished=unfinished.exclude(Exists(by_us)).count())


def give_back_if_ours(attempt: Attempt, *, now: datetime) -> bool:
    """Refund the quota of a submission that ends without a verdict by our fault; return whether it was refunded.

    There is no refund while another attempt follows. A submission that an organiser has judged again had its verdict
    before and gets no refund. Shadow attempts cost nothing.
    """
    failed = attempt.outcome == "infra_error" or is_spoiled(attempt.outcome, attempt.reason)
    if attempt.is_shadow or not failed:
        return False
    if Attempt.objects.of_line(attempt).filter(Q(number__gt=attempt.number) | Q(cause=REJUDGE)).exists():
        return False
    return give_back(submission=attempt.submission, now=now)
