"""A kernel took first place and failed its confirmation on fresh seeds: a person looks at all its runs."""

from __future__ import annotations

from datetime import datetime

import structlog

from leaderboard.confirmations.models import Confirmation
from leaderboard.judging.models import Attempt, Result
from leaderboard.judging.verdicts import kernel_runs
from leaderboard.review.case import log, states
from leaderboard.review.case.open import open_case
from leaderboard.review.models import Case, Finding

logger = structlog.get_logger(__name__)


def hold_failed_record(asked: Confirmation, *, now: datetime) -> list[Result]:
    """Hold the candidate's kernel for a person, even if it was cleared before; a rejection stays.

    Return the results that wait now. A reviewer who clears a result then knows of the failure: it causes no further
    hold.
    """
    held = [run for run in kernel_runs(asked.candidate) if _hold(run, asked, now)]
    if held:
        logger.warning("result_held", results=[run.pk for run in held], rules=[log.RECORD_FAILED])
    return held


def _hold(result: Result, asked: Confirmation, now: datetime) -> bool:
    Attempt.objects.select_for_update().get(pk=result.attempt_id)  # against a concurrent decision
    decided = Case.objects.filter(result=result).exclude(state__in=(*states.HELD, *states.STANDS))
    if result.ratio is None or decided.exists():
        return False
    Finding.objects.get_or_create(
        result=result,
        rule=log.RECORD_FAILED,
        defaults={
            "sentence": f"it passed once and failed when its first place was confirmed on fresh seeds: {asked.message}",
            "figures": {"confirmation": asked.pk},
            "created_at": now,
        },
    )
    return log.project(open_case(result=result, now=now)).state in states.HELD
