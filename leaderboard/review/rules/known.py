"""Standing results that a new result is compared with: by queries for a single result, read once for many.

Both ways agree: they take the results of its board, version and timing epoch, without its own submission's. Its
entrant's own results are its history. They count beside other entrants' results only if a person cleared them:
otherwise an entrant could raise the limit step by step. Results of suspended accounts are compared with no entrant's.
"""

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from django.db.models import Min, Q
from django.db.models.query import QuerySet

from leaderboard.judging.models import Result
from leaderboard.review.case import states
from leaderboard.review.models import Measurement
from leaderboard.review.rules.findings import Known
from leaderboard.review.standing import standing_results
from leaderboard.review.suspension import suspended_logins

COMPARED: Final = 2_000  # newest results of other entrants with which a result's cases are compared
AT_FIRST: Final = 16  # lines in the first look at a board's front; each further look takes twice as many


class _Row(NamedTuple):
    pk: int
    submission: int
    entrant: int
    ratio: float
    is_cleared: bool


def known(result: Result, incumbent_ratio: float | None) -> Known:
    """Return the results to compare with. `incumbent_ratio`: the best published ratio, of any entrant.

    Of a board with more than COMPARED results, an older result without a published line (a retracted one) is ignored.
    """
    submission = result.attempt.submission
    before = _standing(result).exclude(attempt__submission=submission)
    is_own = Q(attempt__submission__entrant=submission.entrant_id)
    cover = before.filter(~is_own | Q(case__state=states.CLEARED))
    cover = cover.exclude(attempt__submission__owner__in=suspended_logins(submission.board.competition))
    newest = list(cover.order_by("-pk").values_list("ratio", "measurement__case_ratios")[:COMPARED])
    best: dict[str, float] = {}
    for _, ratios in newest:
        for name, ratio in (ratios or {}).items():
            best[name] = min(ratio, best.get(name, math.inf))
    covered = min((ratio for ratio, _ in newest if ratio is not None), default=None)
    # On a long board some cover was not read. It matters only if no result that was read is as fast as the incumbent.
    if len(newest) == COMPARED and covered is not None and covered > (incumbent_ratio or math.inf):
        covered = _best_line(result, cover, slower=covered)
    return Known(
        incumbent_ratio=_incumbent(covered, incumbent_ratio),
        own_ratio=before.filter(is_own).aggregate(best=Min("ratio"))["best"],
        case_ratios=best,
    )


class Compared:
    """Comparison results for many results, read once for each board, version and epoch."""

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
        found = results.order_by("-pk").values_list(*columns)
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
    board, _, epoch = _group(result)
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
    board, version, epoch = _group(result)
    return standing_results().filter(
        attempt__submission__board=board, attempt__submission__mode="ranked", attempt__version=version, epoch=epoch
    )


def _group(result: Result) -> tuple[int, int, str]:
    return result.attempt.submission.board_id, result.attempt.version_id, result.epoch


def _incumbent(covered: float | None, published: float | None) -> float | None:
    return max(covered, published) if covered is not None and published is not None else None
