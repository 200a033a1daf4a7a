"""Batches for page and API: their state, who sees them, and figures over the judged candidates of one.

A batch is seen by its owner and by people who are in the team of each of its candidates. Everybody sees it once the
code of all its candidates is public: by an entry, or because their owner has published the code. A batch with an
unfinished candidate, or with a candidate that review holds or rejected, is never public.

A candidate is judged if its outcome is about the code: not cancelled, and not failed by the site. It counts as correct
if it passed and review neither holds nor rejected it.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Final

from django.http import Http404
from django.shortcuts import get_object_or_404

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board, Competition
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.judging.batches import counts_of, spent_s
from leaderboard.judging.models import DONE, Attempt
from leaderboard.judging.verdicts import is_spoiled
from leaderboard.review.standing import reviews_of
from leaderboard.standings.ranking.overall import Solved
from leaderboard.standings.ranking.sampling import Attempts, Share, best_of, fast_at, ks
from leaderboard.standings.read.code import readable_among
from leaderboard.standings.read.table import is_shown
from leaderboard.submissions.models import Batch, Lineage, Submission
from leaderboard.submissions.permissions import is_own
from leaderboard.web.submissions.view import PARTS, Shown, shown_list
from runner.evidence.feedback import STAGES
from runner.wire import TIMED_MODES

WINS: Final = 1.0  # the p of a verified speedup


def shown(batches: Sequence[Batch], now: datetime) -> list[Any]:
    """Return batches as templates and BatchSummary of the API read them."""
    keys = [batch.pk for batch in batches]
    spent, counts, found = spent_s(keys, now), counts_of(keys), []
    for batch in batches:
        states, outcomes = counts[batch.pk]
        address = f"/api/v1/batches/{batch.pk}"
        found.append(
            SimpleNamespace(
                id=batch.pk,
                state=batch.ended_as or ("done" if batch.settled_at else "running"),
                mode=batch.mode,
                size=batch.size,
                arrived=batch.candidates.exclude(arrival=None).count(),
                budget_s=batch.budget_s,
                spent_s=math.ceil(spent[batch.pk] * 1_000) / 1_000,  # up: the rest of a budget is never too much
                bar=batch.bar,
                stages=dict(states),
                outcomes=dict(outcomes),
                created_at=batch.created_at,
                settled_at=batch.settled_at,
                feedback=f"{address}/feedback",
                events=f"{address}/events",
            )
        )
    return found


@dataclass(frozen=True)
class Line:
    """A candidate of a batch."""

    number: int
    arrival: int | None
    item: Shown
    judged_before: bool  # a stored verdict answered it
    same_as: int | None  # submission of that verdict, of which only its owners learn

    @property
    def is_judged(self) -> bool:
        state = self.item.state
        return state.status == DONE and state.outcome != "infra_error" and not is_spoiled(state.outcome, state.reason)

    @property
    def is_correct(self) -> bool:
        return self.is_judged and self.item.passed and not self.item.state.review

    @property
    def answer(self) -> Solved | None:
        state = self.item.state
        if not self.is_correct or state.ratio is None:
            return None
        return Solved(state.ratio, state.half_width, state.forgeable or 0.0)

    @property
    def is_faster(self) -> bool:
        """Return whether it is a verified speedup: correct, and surely faster than the baseline."""
        return self.answer is not None and self.answer.wins(WINS)


@dataclass(frozen=True)
class OfBoard:
    """The candidates of a batch on a board."""

    board: Board
    attempts: Attempts

    @property
    def faster(self) -> int:
        return self.attempts.winning(WINS)

    @property
    def best_ratio(self) -> float | None:
        return min((answer.ratio for answer in self.attempts.answers), default=None)


@dataclass(frozen=True)
class AtK:
    """Figures of k attempts at each problem."""

    k: int
    correct: Share  # pass@k
    fast: tuple[Share, ...]  # fast_p@k, for each p that was asked for
    best: float | None  # expected speedup of the best; None: the mode has no times


@dataclass(frozen=True)
class Report:
    """A batch with its candidates in the order of the request."""

    batch: Batch
    summary: Any
    lines: tuple[Line, ...]
    costs_usd: Mapping[int, float]  # by submission, of those that name one
    is_own: bool  # the viewer may see the page of each submission

    @cached_property
    def judged(self) -> list[Line]:
        return [line for line in self.lines if line.is_judged]

    @cached_property
    def boards(self) -> list[OfBoard]:
        """The boards with a judged candidate. Each is a problem of its own, also where only the hardware differs."""
        found: dict[int, list[Line]] = {}
        for line in self.judged:
            found.setdefault(line.item.submission.board_id, []).append(line)
        return [
            OfBoard(
                same[0].item.submission.board,
                Attempts(
                    total=len(same),
                    correct=sum(line.is_correct for line in same),
                    answers=tuple(line.answer for line in same if line.answer is not None),
                ),
            )
            for same in found.values()
        ]

    @property
    def attempts(self) -> list[Attempts]:
        return [one.attempts for one in self.boards]

    @property
    def competitions(self) -> list[Competition]:
        return list({line.item.submission.board.competition: None for line in self.lines})

    @property
    def is_timed(self) -> bool:
        return self.batch.mode in TIMED_MODES

    @property
    def correct(self) -> int:
        return sum(line.is_correct for line in self.lines)

    @cached_property
    def faster(self) -> int:
        """The number of verified speedups."""
        return sum(line.is_faster for line in self.lines)

    @property
    def not_standing(self) -> int:
        """The number of passes that review holds or rejected."""
        return sum(bool(line.item.state.review) for line in self.judged)

    @property
    def stages(self) -> dict[str, int]:
        """Judged candidates by the last stage that they reached, in the order of stages."""
        counts = Counter(line.item.state.stage for line in self.judged)
        return {stage: counts[stage] for stage in STAGES}

    @property
    def cost_usd(self) -> float | None:
        """The cost of all candidates; None: some name none."""
        return sum(self.costs_usd.values()) if len(self.costs_usd) == self.batch.size else None

    @property
    def cost_usd_per_speedup(self) -> float | None:
        return None if self.cost_usd is None or not self.faster else self.cost_usd / self.faster

    @property
    def device_s_per_speedup(self) -> float | None:
        return self.summary.spent_s / self.faster if self.faster else None

    def rows(self, ps: Sequence[float]) -> list[AtK]:
        """Return the figures for each k; none without a judged candidate."""
        return [
            AtK(
                k=k,
                correct=fast_at(self.attempts, 0.0, k),
                fast=tuple(fast_at(self.attempts, p, k) for p in ps),
                best=best_of(self.attempts, k) if self.is_timed else None,
            )
            for k in ks(self.attempts)
        ]


def report_for(viewer: Viewer, pk: int, now: datetime) -> Report:
    """Return the report on a batch. Raises Http404 where this person does not see it."""
    batch = get_object_or_404(Batch, pk=pk)
    sent = list(Submission.objects.filter(candidate__batch=batch).select_related(*PARTS, "candidate").defer("source"))
    keys = [one.pk for one in sent]
    own = isinstance(viewer, User) and not Submission.objects.filter(pk__in=keys).exclude(is_own(viewer)).exists()
    if not own and not _is_public(batch, sent, viewer, now):
        raise Http404
    sent.sort(key=lambda one: one.candidate.number)
    [summary] = shown([batch], now)
    lines = []
    for item in shown_list(sent):
        place = item.submission.candidate
        before = place.same_as_id is not None
        lines.append(Line(place.number, place.arrival, item, before, place.same_as_id if own else None))
    costs = Lineage.objects.filter(submission__in=keys, cost_usd__isnull=False).values_list("submission", "cost_usd")
    named = {submission: cost for submission, cost in costs if cost is not None}
    return Report(batch, summary, tuple(lines), named, own)


def _is_public(batch: Batch, sent: Sequence[Submission], viewer: Viewer, now: datetime) -> bool:
    if batch.settled_at is None:
        return False
    keys = [one.pk for one in sent]
    published = Submission.objects.filter(pk__in=keys, code_release__isnull=False, takedown=None)
    released = set(published.filter(board__in=boards_seen_by(viewer)).values_list("pk", flat=True))
    seen = readable_among(keys, viewer, now)
    seen |= {one.pk for one in sent if one.pk in released and is_shown(one.board, one.created_at, now)}
    attempts = Attempt.objects.current().filter(submission__in=keys)
    return seen.issuperset(keys) and not reviews_of(list(attempts.values_list("pk", flat=True)))
