"""A kernel that took first place and failed on fresh seeds when that was confirmed: a person looks at it."""

from __future__ import annotations

from datetime import datetime
from typing import Final

import structlog

from leaderboard.confirmations.models import Confirmation
from leaderboard.judging.models import Result
from leaderboard.review.models import Decision, Finding

RULE: Final = "record_failed"

log = structlog.get_logger(__name__)


def hold_failed_record(asked: Confirmation, *, now: datetime) -> bool:
    """The candidate's result waits for a person. False where one has decided on it already."""
    result = Result.objects.filter(attempt__submission=asked.candidate_id, attempt__is_current=True).first()
    if result is None or Decision.objects.filter(result=result).exists():
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
    log.warning("result_held", result=result.pk, rules=[RULE])
    return True
