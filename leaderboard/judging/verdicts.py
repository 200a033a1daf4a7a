"""What submissions were last judged to be: the result that a line stands for, also while its submission is judged anew.

Our own failures are no verdicts, so that what was earned before them stays. Nothing of the shadow.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from leaderboard.judging.models import Attempt, Result
from leaderboard.judging.remeasure import SPOILED
from leaderboard.judging.states import CANCELLED, LOST
from leaderboard.submissions.models import Submission


def newest_verdicts(**of: Any) -> QuerySet[Result]:
    """One a ranked submission, in the order in which they were sent. `of`: fields of Submission."""
    of = {f"attempt__submission__{name}": value for name, value in of.items()}
    results = Result.objects.filter(attempt__submission__mode="ranked", attempt__is_shadow=False, **of)
    results = results.exclude(outcome="infra_error").exclude(outcome="unmeasurable", reason__in=SPOILED)
    newest = results.order_by("attempt__submission_id", "-attempt__number").distinct("attempt__submission_id")
    newest = newest.select_related("attempt__submission__board__competition", "attempt__submission__owner")
    return newest.defer("report", "attempt__submission__source")


def kernel_runs(submission: Submission) -> list[Result]:
    """The newest verdicts on all ranked runs of its kernel, in the order in which they were sent."""
    runs = newest_verdicts(board=submission.board_id, entrant=submission.entrant_id)
    return [run for run in runs if run.attempt.submission.kernel == submission.kernel]


def judged_since(attempt: str) -> Exists:
    """For a filter, of the attempt at this path: its submission came to another verdict, or waits for one.

    Not where nothing came of what followed, called off or failed by us: then this is still what counts.
    """
    later = Attempt.objects.in_the_open().filter(
        submission=OuterRef(f"{attempt}__submission"), number__gt=OuterRef(f"{attempt}__number")
    )
    later = later.exclude(state__in=(LOST, CANCELLED)).exclude(outcome="infra_error")
    return Exists(later.exclude(outcome="unmeasurable", reason__in=SPOILED))
