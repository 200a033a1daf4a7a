"""Earlier results of a submission, for its owner and for organisers."""

from __future__ import annotations

from leaderboard.judging.models import Attempt
from leaderboard.submissions.models import Submission


def judged_again(submission: Submission) -> list[Attempt]:
    """Return a submission's attempts with a result, newest first; empty if there is only one. Omits shadow attempts."""
    told = Attempt.objects.in_the_open().filter(submission=submission, result__isnull=False)
    found = told.select_related("result", "version").defer("result__report", "version__bundle").order_by("-number")
    return list(found) if len(found) > 1 else []
