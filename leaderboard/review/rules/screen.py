"""Screen passing ranked results, in the transaction that may publish them: keep the rules' measures and findings.

A competition's owner sets the thresholds from which rules hold its results.

Screening ends for any report: samples are read once, in time linear in their number, and unreadable samples are a
finding. `docs/review-rules.md` has the cost.

A new result is compared with standing results of its board, version and timing epoch, without its own submission's: by
queries for a single result, read once for many. Both ways agree. Its entrant's own results are its history. They count
beside other entrants' results only if a person cleared them: otherwise an entrant could raise the limit step by step.
Results of suspended accounts are compared with no entrant's.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import structlog
from django.db import connection, transaction
from django.db.models import Min, Q
from django.db.models.query import QuerySet

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import check_role
from leaderboard.entrants.models import in_group
from leaderboard.errors import UserError
from leaderboard.judging.archive import report_of
from leaderboard.judging.models import Result
from leaderboard.review.case import states
from leaderboard.review.models import Finding, Measurement
from leaderboard.review.rules.findings import Evidence, Known, Reported, Source, held_by, held_by_run, measure, worst
from leaderboard.review.rules.fingerprints import opaque_chars_of, planned_without, source_of, sources_of
from leaderboard.review.rules.thresholds import USUAL, Thresholds, changed, parse
from leaderboard.review.standing import standing_results
from leaderboard.review.suspension import suspended_logins

log = structlog.get_logger(__name__)

COMPARED: Final = 1_000  # newest results of other entrants with which a result's cases are compared
# Newest first, as in the index of a board's submissions: COMPARED results then cost the same on any board.
NEWEST: Final = ("-attempt__submission__created_at", "-pk")
WHOLE_BOARD: Final = ("hashjoin", "mergejoin", "bitmapscan", "seqscan", "sort", "material")  # methods that read it
# The number of the newest results, their best ratio, and the best of each case: a thousand objects that Python would
# take longer to read than the database.
_BEST: Final = """
WITH newest (ratio, case_ratios) AS MATERIALIZED ({newest})
SELECT count(*), min(ratio), (
    SELECT jsonb_object_agg(name, best)
      FROM (SELECT timed.name, min(timed.ratio::float8)
              FROM newest CROSS JOIN jsonb_each(newest.case_ratios) AS timed (name, ratio)
             GROUP BY timed.name) AS cases (name, best))
  FROM newest
"""
AT_FIRST: Final = 16  # lines in the first look at a board's front; each further look takes twice as many


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


def is_unscreened(result: Result) -> bool:
    """Return whether a timed pass was not screened when it arrived: it is of mode benchmark, or could not rank."""
    return result.ratio is not None and not hasattr(result, "measurement")


def held_alone(results: Sequence[Result]) -> dict[int, list[Evidence]]:
    """Return what holds each timed pass by its report and source alone, by result key. Load their reports before.

    For modes that are not screened. Whoever asks about many kernels learns nothing about those of others.
    """
    sources = opaque_chars_of([result.attempt.submission for result in results])
    found = {}
    for result in results:
        submission = result.attempt.submission
        thresholds = thresholds_of(submission.board.competition)
        found[result.pk] = held_by_run(_reported(result), sources[submission.pk], thresholds)
    return found


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
    measured = measure(_reported(result), known, source)
    values = {name: None if math.isnan(one.value) else one.value for name, one in worst(measured.measures).items()}
    held = held_by(measured.measures, thresholds_of(result.attempt.submission.board.competition))
    findings = [Finding(result=result, created_at=now, **vars(item)) for item in held]
    return _Seen(Measurement(result=result, values=values, case_ratios=measured.case_ratios, created_at=now), findings)


def _reported(result: Result) -> Reported:
    assert result.ratio is not None
    return Reported(
        ratio=result.ratio,
        half_width=result.half_width or 0.0,
        forgeable=result.forgeable or 0.0,
        flags=result.flags,
        report=report_of(result),
    )


def _keep(findings: Sequence[Finding]) -> list[Finding]:
    rules: dict[int, list[str]] = defaultdict(list)
    for finding in findings:
        rules[finding.result_id].append(finding.rule)
    for result, named in rules.items():
        log.warning("result_held", result=result, rules=named)
    return Finding.objects.bulk_create(findings)


class _Row(NamedTuple):
    pk: int
    submission: int
    entrant: int
    ratio: float
    is_cleared: bool


def known(result: Result, incumbent_ratio: float | None) -> Known:
    """Return the results to compare with. `incumbent_ratio`: the best published ratio, of any entrant of its group.

    Where agents rank apart, an agent's result gives a person no cover, and a person's gives an agent none.

    Of a board with more than COMPARED results, an older result without a published line (a retracted one) is ignored.
    """
    submission = result.attempt.submission
    before = _standing(result).exclude(attempt__submission=submission)
    is_own = Q(attempt__submission__entrant=submission.entrant_id)
    cover = before.filter(~is_own | Q(case__state=states.CLEARED))
    cover = cover.exclude(attempt__submission__owner__in=suspended_logins(submission.board.competition))
    newest = cover.order_by(*NEWEST).values_list("ratio", "measurement__case_ratios")[:COMPARED]
    sql, values = newest.query.sql_with_params()
    with planned_without(*WHOLE_BOARD), connection.cursor() as cursor:
        cursor.execute(_BEST.format(newest=sql), values)
        count, covered, case_ratios = cursor.fetchone()
    # On a long board some cover was not read. It matters only if no result that was read is as fast as the incumbent.
    if count == COMPARED and covered is not None and covered > (incumbent_ratio or math.inf):
        covered = _best_line(result, cover, slower=covered)
    return Known(
        incumbent_ratio=_incumbent(covered, incumbent_ratio),
        own_ratio=before.filter(is_own).aggregate(best=Min("ratio"))["best"],
        case_ratios=json.loads(case_ratios or "{}"),
    )


class Compared:
    """Comparison results for many results, read once for each board, version, epoch and group."""

    def __init__(self, results: Iterable[Result]) -> None:
        groups = {_group(result): result for result in results}
        competitions = {result.attempt.submission.board.competition for result in groups.values()}
        suspended = {competition.pk: suspended_logins(competition) for competition in competitions}
        self._standing = {
            group: _Standing(_standing(result), suspended[result.attempt.submission.board.competition_id])
            for group, result in groups.items()
        }

    def known(self, result: Result, incumbent_ratio: float | None) -> Known:
        standing, submission = self._standing[_group(result)], result.attempt.submission
        own = standing.of_entrant.get(submission.entrant_id, ())
        before = standing.history.get(submission.entrant_id, ())
        history = [row.ratio for row in before if row.submission != submission.pk]
        left_out = {place for place, row in own if not row.is_cleared or row.submission == submission.pk}
        return Known(
            incumbent_ratio=_incumbent(standing.best(left_out), incumbent_ratio),
            own_ratio=min(history, default=None),
            case_ratios=standing.best_cases(left_out),
        )


class _Standing:
    """Results that give cover, newest first.

    A row's place is the number of newer rows. `history`: an entrant's results.
    """

    def __init__(self, results: QuerySet[Result], suspended: set[int]) -> None:
        sent = "attempt__submission"
        columns = ("pk", sent, f"{sent}__entrant", "ratio", "case__state", f"{sent}__owner")
        found = results.order_by(*NEWEST).values_list(*columns)
        self.history: dict[int, list[_Row]] = defaultdict(list)
        self._rows: list[_Row] = []
        for pk, submission, entrant, ratio, state, owner in found:
            row = _Row(pk, submission, entrant, ratio or 0.0, state == states.CLEARED)
            self.history[entrant].append(row)
            if owner not in suspended:
                self._rows.append(row)
        self.of_entrant: dict[int, list[tuple[int, _Row]]] = defaultdict(list)
        for place, row in enumerate(self._rows):
            self.of_entrant[row.entrant].append((place, row))
        self._by_ratio = sorted(range(len(self._rows)), key=lambda place: self._rows[place].ratio)
        most = COMPARED + max(map(len, self.of_entrant.values()), default=0)
        places = {row.pk: place for place, row in enumerate(self._rows[:most])}
        measured = Measurement.objects.filter(result__in=list(places)).order_by().values_list("result", "case_ratios")
        cases: dict[str, list[tuple[float, int]]] = defaultdict(list)  # ratio and place of the newest, fastest first
        for pk, ratios in measured:
            for name, ratio in ratios.items():
                cases[name].append((ratio, places[pk]))
        self._cases = {name: sorted(ratios) for name, ratios in cases.items()}

    def best(self, left_out: set[int]) -> float | None:
        return next((self._rows[place].ratio for place in self._by_ratio if place not in left_out), None)

    def best_cases(self, left_out: set[int]) -> dict[str, float]:
        """Return the best ratio of each case over the newest COMPARED results that are not left out."""
        end = COMPARED
        for place in sorted(left_out):
            end += place < end
        found = {}
        for name, ratios in self._cases.items():
            best = next((ratio for ratio, place in ratios if place < end and place not in left_out), None)
            if best is not None:
                found[name] = best
        return found


def _best_line(result: Result, cover: QuerySet[Result], *, slower: float) -> float:
    """Return the best ratio of `cover` among the published lines faster than `slower`, or `slower` without any.

    The lines are read from the front of the board, so the cost does not depend on the number of results. The standings
    app is above this app, so its rows are queried by name.
    """
    board, _, epoch, _ = _group(result)
    lines = Result.objects.filter(
        attempt__entry__board=board, attempt__entry__epoch=epoch, attempt__entry__ratio__lt=slower
    ).order_by("attempt__entry__ratio", "attempt__entry__pk")
    start, size = 0, AT_FIRST
    while front := list(lines.values_list("pk", flat=True)[start : start + size]):
        best = cover.filter(pk__in=front).aggregate(best=Min("ratio"))["best"]
        if best is not None:
            return float(best)
        start, size = start + size, 2 * size
    return slower


def _standing(result: Result) -> QuerySet[Result]:
    board, version, epoch, group = _group(result)
    return standing_results().filter(
        in_group(group, "attempt__submission__entrant"),
        attempt__submission__board=board,
        attempt__submission__mode="ranked",
        attempt__version=version,
        epoch=epoch,
    )


def _group(result: Result) -> tuple[int, int, str, str]:
    submission = result.attempt.submission
    return submission.board_id, result.attempt.version_id, result.epoch, submission.group


def _incumbent(covered: float | None, published: float | None) -> float | None:
    return max(covered, published) if covered is not None and published is not None else None
