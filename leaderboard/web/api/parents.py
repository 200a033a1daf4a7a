"""Parents over /api/v1: the fastest verified kernels of a board that differ from each other, to write the next from.

Kernels are entries whose code everybody may read, under a licence that allows derived work, and the caller's own timed
passes, also of mode benchmark. All are of the timing epoch that the board ranks. A held, rejected, retracted or
taken-down kernel is none of them, nor an own benchmark that the rules of review would hold.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from math import exp, log
from statistics import fmean
from typing import Any, Final

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers as drf
from rest_framework.request import Request
from rest_framework.response import Response

from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import current_stage
from leaderboard.competitions.checks import ALL_RIGHTS_RESERVED
from leaderboard.competitions.models import Board
from leaderboard.errors import RateLimited
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.models import Result
from leaderboard.judging.verdicts import with_reports
from leaderboard.review.models import Fingerprint
from leaderboard.review.rules import similarity
from leaderboard.review.rules.screen import held_alone, is_unscreened
from leaderboard.review.standing import standing_results
from leaderboard.standings.models import Entry
from leaderboard.standings.publish import retracted_kernels
from leaderboard.standings.read.code import readable_among
from leaderboard.standings.read.table import shown_lines
from leaderboard.submissions.models import Submission
from leaderboard.submissions.permissions import is_own
from leaderboard.web import limits
from leaderboard.web.api.base import Private, parse
from leaderboard.web.boards import cards

MOST: Final = 16
CONSIDERED: Final = 1_000  # fastest runs of others, and as many of the caller's
AT_ONCE: Final = 50  # kernels whose fingerprints are read together
COMPARED: Final = 300  # kernels, each with those before it


class ParentsQuery(drf.Serializer[Any]):
    limit = drf.IntegerField(default=8, min_value=1, max_value=MOST, help_text=f"At most {MOST}.")
    similarity = drf.FloatField(
        default=0.7,
        min_value=0,
        max_value=1,
        help_text="A kernel that shares more than this part of its token fingerprints with a faster one is left out.",
    )


class ParentKernel(drf.Serializer[Any]):
    submission = drf.IntegerField(source="submission.pk")
    own = drf.BooleanField(source="is_own", help_text="Whether it is the caller's, their agent's or their team's.")
    user = drf.CharField(source="submission.entrant.shown_name", help_text="Public name of the entrant.")
    ratio = drf.FloatField(help_text="Candidate / baseline, below 1 faster; geometric mean over `runs`.")
    runs = drf.IntegerField(help_text="Timed runs of the kernel.")
    similarity = drf.FloatField(help_text="The largest to the kernels before it, 0 to 1.")
    model = drf.CharField(allow_blank=True, help_text="The model that wrote the code; empty: none was named.")
    idea = drf.CharField(allow_blank=True)
    licence = drf.CharField(source="submission.licence", allow_blank=True)
    filename = drf.CharField(source="submission.filename")
    code = drf.CharField(source="submission.source")


@dataclass(frozen=True)
class Kernel:
    submission: Submission
    is_own: bool
    ratio: float
    runs: int
    similarity: float

    @property
    def model(self) -> str:
        return self.submission.lineage.model if hasattr(self.submission, "lineage") else ""

    @property
    def idea(self) -> str:
        return self.submission.lineage.idea if hasattr(self.submission, "lineage") else ""


@dataclass
class _Runs:
    """Timed runs of a kernel of an entrant, by the number of the submission."""

    ratios: dict[int, float]
    unscreened: int | None = None  # key of a result that the rules of review did not look at

    @property
    def ratio(self) -> float:
        return exp(fmean(map(log, self.ratios.values())))


class Parents(Private):
    @extend_schema(operation_id="parents", parameters=[ParentsQuery], responses=ParentKernel(many=True))
    def get(self, request: Request, slug: str, hardware: str) -> Response:
        """List the fastest kernels of a board that differ from each other, with code: public ones and the caller's."""
        query, caller, now = parse(ParentsQuery, request.query_params), self.caller(request), timezone.now()
        board = cards.card(slug, caller, now).place(hardware).board
        wait_s = limits.floods.take((limits.PARENTS_USER, str(caller.account_id)))
        if wait_s is not None:
            raise RateLimited("board", slug, f"too many requests; try again in {wait_s} s", retry_after_s=wait_s)
        found = diverse(board, caller, now, most=query["limit"], bound=query["similarity"])
        return Response(ParentKernel(found, many=True).data)


def diverse(board: Board, viewer: User, now: datetime, *, most: int, bound: float) -> list[Kernel]:
    """Return the fastest kernels, each sharing at most `bound` of its fingerprints with any before it."""
    found: list[tuple[frozenset[int], int, _Runs, float]] = []
    for compared, (pk, runs, prints) in enumerate(_kernels(board, viewer, now)):
        if len(found) == most or compared == COMPARED:
            break
        like = max((similarity.overlap(prints, kept) for kept, *_ in found), default=0.0)
        if like <= bound and not _would_be_held(runs.unscreened):
            found.append((prints, pk, runs, like))
    parts = Submission.objects.select_related("entrant", "lineage").in_bulk([pk for _, pk, _, _ in found])
    own = set(Submission.objects.filter(is_own(viewer), pk__in=parts).values_list("pk", flat=True))
    return [Kernel(parts[pk], pk in own, runs.ratio, len(runs.ratios), like) for _, pk, runs, like in found]


def _kernels(board: Board, viewer: User, now: datetime) -> Iterator[tuple[int, _Runs, frozenset[int]]]:
    """Yield the kernels that the viewer may build on, fastest first: first readable submission, runs, fingerprints."""
    epoch = RankedEpochs([board]).of(board, current_stage(board.competition.schedule, now))
    kernels: dict[tuple[int, int, str], _Runs] = defaultdict(lambda: _Runs({}))
    lines = Entry.objects.filter(shown_lines([board], now), epoch=epoch, submission__takedown=None)
    allowed = lines.exclude(submission__licence__in=("", ALL_RIGHTS_RESERVED)).order_by("ratio")
    for pk, entrant, code, ratio in allowed.values_list("submission", "entrant", "code_digest", "ratio")[:CONSIDERED]:
        kernels[board.pk, entrant, code].ratios[pk] = ratio
    sent = Submission.objects.filter(is_own(viewer), board=board, takedown=None)
    passes = standing_results().filter(attempt__submission__in=sent, attempt__version=board.version_id, epoch=epoch)
    parts = passes.select_related("attempt__submission", "measurement").defer("inline", "attempt__submission__source")
    for result in parts.order_by("ratio")[:CONSIDERED]:
        submission = result.attempt.submission
        assert result.ratio is not None  # of standing_results
        runs = kernels[submission.kernel_key]
        runs.ratios[submission.pk] = result.ratio
        runs.unscreened = result.pk if is_unscreened(result) else runs.unscreened
    retracted = retracted_kernels({board.pk})
    ordered = sorted((runs for key, runs in kernels.items() if key not in retracted), key=lambda runs: runs.ratio)
    for start in range(0, len(ordered), AT_ONCE):
        some = ordered[start : start + AT_ONCE]
        readable = readable_among({pk for runs in some for pk in runs.ratios}, viewer, now)
        first = {min(found): runs for runs in some if (found := readable & runs.ratios.keys())}
        rows = Fingerprint.objects.filter(submission__in=first, version=similarity.VERSION)
        prints = dict(rows.values_list("submission", "prints"))
        yield from ((pk, runs, frozenset(prints[pk])) for pk, runs in first.items() if pk in prints)


def _would_be_held(unscreened: int | None) -> bool:
    """Return whether rules of review about the run would hold this result, or its report for them is gone."""
    if unscreened is None:
        return False
    parts = ("attempt__submission__board__competition", "attempt__submission__board__version")
    result = Result.objects.select_related(*parts).get(pk=unscreened)
    return any(not one.loaded or held_alone([one])[one.pk] for (one,) in with_reports([result]))
