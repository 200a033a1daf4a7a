"""What submissions were last judged to be: the result that a line stands for, also while its submission is judged anew.

Our own failures are no verdicts, so that what was earned before them stays. Nothing of the shadow.
"""

from __future__ import annotations

from typing import Any

from django.db.models import QuerySet

from leaderboard.judging.models import Result
from leaderboard.judging.remeasure import SPOILED


def newest_verdicts(**of: Any) -> QuerySet[Result]:
    """One a ranked submission, in the order in which they were sent. `of`: fields of Submission."""
    of = {f"attempt__submission__{name}": value for name, value in of.items()}
    results = Result.objects.filter(attempt__submission__mode="ranked", attempt__is_shadow=False, **of)
    results = results.exclude(outcome="infra_error").exclude(outcome="unmeasurable", reason__in=SPOILED)
    newest = results.order_by("attempt__submission_id", "-attempt__number").distinct("attempt__submission_id")
    newest = newest.select_related("attempt__submission__board__competition", "attempt__submission__owner")
    return newest.defer("report", "attempt__submission__source")
