"""Look at one passing ranked result, in the transaction of its report: keep what the rules measure and find.

Whatever a report holds, this ends: samples are read once, in time linear in their number, and what cannot be read is a
finding. `docs/review.md` has the cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import structlog
from django.db.models import Min, Q
from django.db.models.query import QuerySet

from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError
from leaderboard.judging.models import Result
from leaderboard.review.fingerprints import source_of
from leaderboard.review.measure import held_by, worst
from leaderboard.review.models import Finding, Measurement
from leaderboard.review.rules import Known, Measured, Reported, measure
from leaderboard.review.standing import standing_results
from leaderboard.review.thresholds import USUAL, Thresholds, parse
from leaderboard.submissions.models import Submission

COMPARED: Final = 2_000  # results of others, the newest, whose cases a result is compared with

log = structlog.get_logger(__name__)


def screen(*, result: Result, incumbent_ratio: float | None, now: datetime) -> list[Finding]:
    """The findings; none means that the result may be published at once."""
    if result.ratio is None:
        raise ValueError(f"{result} has no ratio: only passing timed results are screened")
    submission = result.attempt.submission
    measured = measure(_reported(result), _known(result, submission, incumbent_ratio), source_of(submission))
    _keep(result, measured, now)
    found = held_by(measured.measures, thresholds_of(submission.board.competition))
    findings = [
        Finding(
            result=result,
            rule=item.rule,
            threshold=item.threshold,
            sentence=item.sentence,
            figures=item.figures,
            samples=item.samples,
            created_at=now,
        )
        for item in found
    ]
    Finding.objects.bulk_create(findings)
    if findings:
        log.warning("result_held", result=result.pk, rules=[finding.rule for finding in findings])
    return findings


def thresholds_of(competition: Competition) -> Thresholds:
    """The usual ones where what is stored does not fit the rules of today: a report is never refused for that."""
    try:
        return parse(competition.thresholds)
    except UserError as error:
        log.error("thresholds_unreadable", competition=competition.slug, problem=str(error))
        return USUAL


def _reported(result: Result) -> Reported:
    assert result.ratio is not None
    return Reported(
        ratio=result.ratio,
        half_width=result.half_width or 0.0,
        forgeable=result.forgeable or 0.0,
        flags=result.flags,
        report=result.report,
    )


def _known(result: Result, submission: Submission, incumbent_ratio: float | None) -> Known:
    before = standing_results().filter(
        attempt__submission__board=submission.board,
        attempt__submission__mode="ranked",
        attempt__version=result.attempt.version_id,
        epoch=result.epoch,
    )
    before = before.exclude(attempt__submission=submission)
    is_own = Q(attempt__submission__entrant=submission.entrant_id)
    cover = before.filter(~is_own | Q(case__isnull=False))  # its own only where a person cleared it: no ladders
    covered = cover.aggregate(best=Min("ratio"))["best"]
    is_known = covered is not None and incumbent_ratio is not None
    return Known(
        incumbent_ratio=max(covered, incumbent_ratio) if is_known else None,
        own_ratio=before.filter(is_own).aggregate(best=Min("ratio"))["best"],
        case_ratios=_best_cases(cover),
    )


def _best_cases(results: QuerySet[Result]) -> Mapping[str, float]:
    best: dict[str, float] = {}
    newest = results.order_by("-pk").values_list("measurement__case_ratios", flat=True)[:COMPARED]
    for ratios in newest:
        for case, ratio in (ratios or {}).items():
            best[case] = min(ratio, best.get(case, math.inf))
    return best


def _keep(result: Result, measured: Measured, now: datetime) -> None:
    values = {name: None if math.isnan(one.value) else one.value for name, one in worst(measured.measures).items()}
    Measurement.objects.create(result=result, values=values, case_ratios=measured.case_ratios, created_at=now)
