"""Look at one passing ranked result, in the transaction of its report: keep what the rules find."""

from __future__ import annotations

from datetime import datetime

import structlog

from leaderboard.judging.models import Result
from leaderboard.review.models import Finding
from leaderboard.review.rules import find_implausible

log = structlog.get_logger(__name__)


def screen(*, result: Result, incumbent_ratio: float | None, now: datetime) -> list[Finding]:
    """The findings; none means that the result may be published at once."""
    if result.ratio is None:
        raise ValueError(f"{result} has no ratio: only passing timed results are screened")
    found = find_implausible(ratio=result.ratio, incumbent_ratio=incumbent_ratio, flags=result.flags)
    findings = [
        Finding(result=result, rule=item.rule, sentence=item.sentence, figures=item.figures, created_at=now)
        for item in found
    ]
    Finding.objects.bulk_create(findings)
    if findings:
        log.warning("result_held", result=result.pk, rules=[finding.rule for finding in findings])
    return findings
