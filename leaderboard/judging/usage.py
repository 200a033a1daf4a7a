"""How much of the quota an owner has used. A submission that we failed to judge (infra_error) does not count."""

from __future__ import annotations

from datetime import datetime

from leaderboard.accounts.models import User
from leaderboard.judging.models import Attempt
from leaderboard.submissions.models import Submission
from leaderboard.submissions.quota import WINDOW, Usage


def usage_of(owner: User, *, now: datetime) -> Usage:
    failed_by_us = Attempt.objects.current().filter(outcome="infra_error").values("submission_id")
    recent = (
        Submission.objects.filter(owner=owner, created_at__gt=now - WINDOW)
        .exclude(pk__in=failed_by_us)
        .order_by("created_at")
        .values_list("created_at", flat=True)
    )
    unfinished = Attempt.objects.current().unfinished().filter(submission__owner=owner).count()
    return Usage(recent=list(recent), unfinished=unfinished)
