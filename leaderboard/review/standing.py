"""Where results stand in review, and what waits for a person."""

from __future__ import annotations

from typing import Final

from django.db.models import Exists, OuterRef, QuerySet

from leaderboard.judging.models import Result
from leaderboard.review.models import Decision, Finding

UNDER_REVIEW: Final = "under_review"
REJECTED: Final = "rejected"


def held_results() -> QuerySet[Result]:
    """What waits for a person, oldest first."""
    return (
        Result.objects.filter(findings__isnull=False, decision__isnull=True, attempt__is_current=True)
        .distinct()
        .select_related("attempt__submission__board__problem", "attempt__submission__owner")
        .defer("report")
        .order_by("id")
    )


def standing_results() -> QuerySet[Result]:
    """Current passes that no rule held, or that a person published: what others may be compared with."""
    held, published = (
        Exists(Finding.objects.filter(result=OuterRef("pk"))),
        Exists(Decision.objects.filter(result=OuterRef("pk"), act=Decision.PUBLISH)),
    )
    return Result.objects.filter(~held | published, attempt__is_current=True, ratio__isnull=False)
