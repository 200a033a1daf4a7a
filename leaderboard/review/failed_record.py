"""A kernel that took first place and failed on fresh seeds when that was confirmed: a person looks at it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import structlog

from leaderboard.confirmations.models import Confirmation
from leaderboard.judging.models import Result
from leaderboard.review import case
from leaderboard.review.models import Case, Finding
from leaderboard.review.open import open_case

RULE: Final = "record_failed"

log = structlog.get_logger(__name__)


def hold_failed_record(asked: Confirmation, *, now: datetime) -> bool:
    """The candidate's result waits for a person. False where one has decided on it already."""
    result = Result.objects.filter(attempt__submission=asked.candidate_id, attempt__is_current=True).first()
    if result is None or Case.objects.filter(result=result).exclude(state__in=case.HELD).exists():
        return False
    Finding.objects.get_or_create(
        result=result,
        rule=RULE,
        defaults={
            "sentence": f"it passed once and failed when its first place was confirmed on fresh seeds: {asked.message}",
            "figures": {"confirmation": asked.pk},
            "created_at": now,
        },
    )
    open_case(result=result, now=now)
    log.warning("result_held", result=result.pk, rules=[RULE])
    return True
