"""Verdicts on submissions, and faults of the site: further attempts after a spoiled measurement, refunds of quota.

The newest verdict is the result that a board shows, also while a submission is judged again. Our own failures are not
verdicts, so an earlier verdict stays in force. Shadow attempts are excluded.

Noise is the site's problem. After a measurement that a disturbed, unfit or overloaded machine spoiled, or a failure of
the judge or its sandbox, the next attempt follows automatically. It waits, each time twice as long as before, then
stands at the end of the queue; another runner of the hardware takes it if there is one. It costs the owner nothing: the
submission counts once, and after the last try its token comes back. A further attempt cannot be requested, because it
follows from a verdict that the judge reaches only by its own figures. Any other verdict ends the tries.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, Final

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from leaderboard.judging import archive
from leaderboard.judging.attempts import follow
from leaderboard.judging.models import CANCELLED, FIRST, LOST, REJUDGE, REMEASURE, Attempt, Result
from leaderboard.submissions.ledger import give_back
from leaderboard.submissions.models import Submission

REPORTS_AT_ONCE: Final = 50  # in memory, of about 40 kB of text each
SPOILED: Final = {  # outcome: reasons that the machine causes
    "unmeasurable": ("voids", "device_unfit", "unsteady", "starved"),
    "infra_error": ("sandbox", "judge_died", "judge_hung", "judge_protocol"),
}
WHY: Final = {
    "device_unfit": "the machine was not fit",
    "starved": "the machine was overloaded",
    **dict.fromkeys(SPOILED["infra_error"], "the judge failed"),
}
DISTURBED: Final = "the machine was disturbed"
MOST: Final = 3  # further attempts; then the submission is shown as it is, with its measurements

IS_SPOILED: Final = reduce(or_, (Q(outcome=outcome, reason__in=reasons) for outcome, reasons in SPOILED.items()))
OUR_FAILURE: Final = Q(outcome="infra_error") | IS_SPOILED


def newest_verdicts(**of: Any) -> QuerySet[Result]:
    """Return the newest result of each ranked submission, in order of submission.

    `of` filters by Submission's fields.
    """
    of = {f"attempt__submission__{name}": value for name, value in of.items()}
    results = Result.objects.filter(attempt__submission__mode="ranked", attempt__is_shadow=False, **of)
    newest = results.exclude(OUR_FAILURE).order_by("attempt__submission_id", "-attempt__number")
    newest = newest.distinct("attempt__submission_id")
    parts = ("board__competition", "owner", "entrant")
    newest = newest.select_related(*(f"attempt__submission__{name}" for name in parts))
    return newest.defer("inline", "attempt__submission__source")


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
    return Exists(later.exclude(OUR_FAILURE | Q(state__in=(LOST, CANCELLED))))


def with_reports(results: Sequence[Result]) -> Iterator[list[Result]]:
    """Yield the results with their large reports, which lists leave out, in batches of REPORTS_AT_ONCE.

    A batch holds its reports until the next batch is read.
    """
    for first in range(0, len(results), REPORTS_AT_ONCE):
        some = list(results[first : first + REPORTS_AT_ONCE])
        archive.load(some)
        yield some
        for one in some:
            one.loaded = None


def is_spoiled(outcome: str, reason: str) -> bool:
    return reason in SPOILED.get(outcome, ())


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
    return row.filter(IS_SPOILED, number__gte=began)


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
