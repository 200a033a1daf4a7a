"""Screen passing ranked results, in the transaction that may publish them: keep the rules' measures and findings.

A competition's owner sets the thresholds from which rules hold its results.

Screening ends for any report: samples are read once, in time linear in their number, and unreadable samples are a
finding. `docs/review-rules.md` has the cost.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import structlog
from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.errors import UserError
from leaderboard.judging.models import Result
from leaderboard.review.models import Finding, Measurement
from leaderboard.review.rules.findings import Known, Reported, Source, held_by, measure, worst
from leaderboard.review.rules.fingerprints import source_of, sources_of
from leaderboard.review.rules.known import Compared, known
from leaderboard.review.rules.thresholds import USUAL, Thresholds, changed, parse

log = structlog.get_logger(__name__)


class _Seen(NamedTuple):
    measurement: Measurement
    findings: list[Finding]


def screen(*, result: Result, incumbent_ratio: float | None, now: datetime) -> list[Finding]:
    """Return the findings; without findings the result may be published at once."""
    _check_timed(result)
    seen = _see(result, known(result, incumbent_ratio), source_of(result.attempt.submission), now)
    seen.measurement.save(force_insert=True)
    return _keep(seen.findings)


def screen_all(
    *, results: Sequence[Result], compared: Compared, incumbents: Mapping[int, float | None], now: datetime
) -> list[Finding]:
    """Screen many results in a fixed number of queries. `incumbents`: by result. Load their reports before."""
    seen = _see_all(results, compared, incumbents, now)
    Measurement.objects.bulk_create([one.measurement for one in seen])
    return _keep([finding for one in seen for finding in one.findings])


def foresee(
    *, results: Sequence[Result], compared: Compared, incumbents: Mapping[int, float | None], now: datetime
) -> set[int]:
    """Return the keys of results for which screen_all would have a finding. Writes no row."""
    return {one.measurement.result_id for one in _see_all(results, compared, incumbents, now) if one.findings}


def _see_all(
    results: Sequence[Result], compared: Compared, incumbents: Mapping[int, float | None], now: datetime
) -> list[_Seen]:
    for result in results:
        _check_timed(result)
    sources = sources_of([result.attempt.submission for result in results])
    return [
        _see(result, compared.known(result, incumbents[result.pk]), sources[result.attempt.submission_id], now)
        for result in results
    ]


def thresholds_of(competition: Competition) -> Thresholds:
    """Return the competition's thresholds; the usual thresholds if stored values do not fit today's rules.

    A report is never refused for that.
    """
    try:
        return parse(competition.thresholds)
    except UserError as error:
        log.error("thresholds_unreadable", competition=competition.slug, problem=str(error))
        return USUAL


@transaction.atomic
def set_thresholds(
    *, competition: Competition, actor: User, thresholds: Mapping[str, Any], reason: str, now: datetime
) -> Competition:
    """Set the thresholds from which rules hold later results of a competition. An owner does this.

    `thresholds`: all that differ from the usual. UserError names `thresholds.<rule>`.
    """
    check_role(actor, competition, Role.OWNER, "set what is held for review")
    new = changed(parse(dict(thresholds)))
    competition = Competition.objects.select_for_update().get(pk=competition.pk)
    if new == competition.thresholds:
        return competition
    check_reason(reason)
    before, competition.thresholds = competition.thresholds, new
    competition.save(update_fields=["thresholds"])
    sides = {"before": {"thresholds": before}, "after": {"thresholds": new}}
    record("set_thresholds", competition, actor=actor, reason=reason, now=now, **sides)
    return competition


def _check_timed(result: Result) -> None:
    if result.ratio is None:
        raise ValueError(f"{result} has no ratio: only passing timed results are screened")


def _see(result: Result, known: Known, source: Source, now: datetime) -> _Seen:
    """Return the measurement and findings of a result, unsaved."""
    assert result.ratio is not None
    reported = Reported(
        ratio=result.ratio,
        half_width=result.half_width or 0.0,
        forgeable=result.forgeable or 0.0,
        flags=result.flags,
        report=result.report,
    )
    measured = measure(reported, known, source)
    values = {name: None if math.isnan(one.value) else one.value for name, one in worst(measured.measures).items()}
    held = held_by(measured.measures, thresholds_of(result.attempt.submission.board.competition))
    findings = [Finding(result=result, created_at=now, **vars(item)) for item in held]
    return _Seen(Measurement(result=result, values=values, case_ratios=measured.case_ratios, created_at=now), findings)


def _keep(findings: Sequence[Finding]) -> list[Finding]:
    rules: dict[int, list[str]] = defaultdict(list)
    for finding in findings:
        rules[finding.result_id].append(finding.rule)
    for result, named in rules.items():
        log.warning("result_held", result=result, rules=named)
    return Finding.objects.bulk_create(findings)
