"""The standing of results in review, and results that wait for a person."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from django.db.models import Exists, OuterRef, QuerySet

from leaderboard.competitions.models import Competition
from leaderboard.judging.models import Result
from leaderboard.judging.verdicts import judged_since
from leaderboard.review.case import states
from leaderboard.review.models import Case, Decision

UNDER_REVIEW: Final = "under_review"
REJECTED: Final = "rejected"

LOOK_BACK: Final = timedelta(days=30)
LEAST_DECIDED: Final = 5  # a median of fewer reveals too much of single decisions


def held_results() -> QuerySet[Result]:
    """Return the results that wait for a person, oldest first."""
    return (
        Result.objects.filter(~judged_since("attempt"), case__state__in=states.OPEN)
        .select_related("attempt__submission__board__problem", "attempt__submission__owner")
        .defer("inline")
        .order_by("id")
    )


def standing_results() -> QuerySet[Result]:
    """Return current passes that are not held, or were cleared: new results may be compared with them."""
    stopped = Case.objects.filter(result=OuterRef("pk")).exclude(state__in=states.STANDS)  # few, so planned as few
    return Result.objects.filter(~Exists(stopped), attempt__is_current=True, ratio__isnull=False)


def reviews_of(attempt_ids: Collection[int]) -> dict[int, str]:
    """Map attempt ids to UNDER_REVIEW or REJECTED (by a person); absent: never held, or cleared."""
    rows = Case.objects.filter(result__attempt__in=attempt_ids, is_by_itself=False)
    said = {**dict.fromkeys(states.HELD, UNDER_REVIEW), **dict.fromkeys((states.REJECTED, states.APPEALED), REJECTED)}
    found = rows.values_list("result__attempt_id", "state")
    return {attempt_id: said[state] for attempt_id, state in found if state in said}


def may_stand(result: Result) -> bool:
    """Return whether review lets this result rank: it has no case, was cleared, or is held no more."""
    return not Case.objects.filter(result=result).exclude(state__in=states.STANDS).exists()


def not_standing(results: Iterable[Result]) -> set[int]:
    """Return the keys of results that review does not let rank: one query."""
    cases = Case.objects.filter(result__in=[result.pk for result in results]).exclude(state__in=states.STANDS)
    return set(cases.order_by().values_list("result", flat=True))


def median_wait(competition: Competition, now: datetime) -> timedelta | None:
    """Return the median time from a case's opening to its decision, over the last 30 days; None: fewer than 5."""
    waits = decision_waits(competition, since=now - LOOK_BACK, until=now)
    return median_of(waits) if len(waits) >= LEAST_DECIDED else None


def median_of(waits: Iterable[timedelta]) -> timedelta:
    return timedelta(seconds=median(wait.total_seconds() for wait in waits))


def decision_waits(competition: Competition, *, since: datetime | None = None, until: datetime) -> list[timedelta]:
    """Return the wait of each held case that is decided now, by a decision in this period."""
    rows = Case.objects.filter(
        board__competition=competition, origin=Case.HELD, state__in=(states.CLEARED, states.REJECTED, states.APPEALED)
    )
    first: dict[int, timedelta] = {}
    decided = Decision.objects.filter(
        result__case__in=rows, act__in=(states.CLEAR, states.REJECT), created_at__lt=until
    ).order_by("-id")
    for pk, at, opened_at in decided.values_list("result_id", "created_at", "result__case__opened_at"):
        if since is None or at >= since:
            first.setdefault(pk, at - opened_at)
    return list(first.values())
