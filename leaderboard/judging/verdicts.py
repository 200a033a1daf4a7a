"""Newest verdicts on submissions: the results that a board shows, also while a submission is judged again.

Our own failures are not verdicts, so an earlier verdict stays in force. Shadow attempts are excluded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.db.models import Exists, OuterRef, QuerySet

from leaderboard.judging.faults import SPOILED
from leaderboard.judging.models import CANCELLED, LOST, Attempt, Result
from leaderboard.submissions.models import Submission

REPORTS_AT_ONCE: Final = 50  # in memory, of about 40 kB of text each


def newest_verdicts(**of: Any) -> QuerySet[Result]:
    """Return the newest result of each ranked submission, in order of submission.

    `of` filters by Submission's fields.
    """
    of = {f"attempt__submission__{name}": value for name, value in of.items()}
    results = Result.objects.filter(attempt__submission__mode="ranked", attempt__is_shadow=False, **of)
    results = results.exclude(outcome="infra_error").exclude(outcome="unmeasurable", reason__in=SPOILED)
    newest = results.order_by("attempt__submission_id", "-attempt__number").distinct("attempt__submission_id")
    newest = newest.select_related("attempt__submission__board__competition", "attempt__submission__owner")
    return newest.defer("report", "attempt__submission__source")


def kernel_runs(submission: Submission) -> list[Result]:
    """Return the newest verdicts on all ranked runs of this submission's kernel, in order of submission."""
    runs = newest_verdicts(board=submission.board_id, entrant=submission.entrant_id)
    return [run for run in runs if run.attempt.submission.kernel == submission.kernel]


def judged_since(attempt: str) -> Exists:
    """Return a filter: a later attempt of the same submission has a verdict or is unfinished.

    `attempt` is the path to the attempt in the query. Later attempts that were lost, cancelled, spoiled or failed by us
    do not count: then the earlier verdict still stands.
    """
    later = Attempt.objects.in_the_open().filter(
        submission=OuterRef(f"{attempt}__submission"), number__gt=OuterRef(f"{attempt}__number")
    )
    later = later.exclude(state__in=(LOST, CANCELLED)).exclude(outcome="infra_error")
    return Exists(later.exclude(outcome="unmeasurable", reason__in=SPOILED))


def with_reports(results: Sequence[Result]) -> Iterator[list[Result]]:
    """Yield the results with their large reports, which lists leave out, in batches of REPORTS_AT_ONCE.

    One query each. A batch holds its reports until the next batch is read.
    """
    for first in range(0, len(results), REPORTS_AT_ONCE):
        some = list(results[first : first + REPORTS_AT_ONCE])
        reports = dict(Result.objects.filter(pk__in=[one.pk for one in some]).values_list("pk", "report"))
        for one in some:
            one.report = reports[one.pk]
        yield some
        for one in some:
            del one.report
