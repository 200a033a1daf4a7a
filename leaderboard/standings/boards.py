"""What pages and the API read of the standings: Entry and nothing else. Times are on the scale of their board."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Min

from leaderboard.competitions.models import Board
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking import Line, rank, scale_us
from leaderboard.submissions.models import Submission


@dataclass(frozen=True)
class RankedEntry:
    rank: int
    entry: Entry
    score_us: float  # on the board's scale; the entry's own is what its run reported


def board_entries(board: Board) -> list[RankedEntry]:
    """The board, best first, one line an owner."""
    entries = {entry.submission_id: entry for entry in Entry.objects.filter(board=board).select_related("owner")}
    if not entries:
        return []
    scale = scale_us((it.score_us, it.ratio) for it in entries.values())
    lines = rank(Line(it.ratio, it.submitted_at, it.submission_id, it.owner_id) for it in entries.values())
    return [
        RankedEntry(place, entries[line.submission_id], line.ratio * scale) for place, line in enumerate(lines, start=1)
    ]


def published_times(submissions: Iterable[int]) -> dict[int, float]:
    """Submission id → its time on its board's scale; absent: not published. Two queries however many there are."""
    published = {entry.submission_id: entry for entry in Entry.objects.filter(submission__in=list(submissions))}
    scored: dict[int, list[tuple[float, float]]] = defaultdict(list)
    rows = Entry.objects.filter(board__in={entry.board_id for entry in published.values()})
    for board_id, score_us, ratio in rows.values_list("board_id", "score_us", "ratio"):
        scored[board_id].append((score_us, ratio))
    scales = {board_id: scale_us(pairs) for board_id, pairs in scored.items()}
    return {pk: entry.ratio * scales[entry.board_id] for pk, entry in published.items()}


def entry_counts(boards: Iterable[Board]) -> dict[int, int]:
    """Board id → number of lines, which is the number of owners."""
    rows = Entry.objects.filter(board__in=boards).order_by().values("board_id")
    return {row["board_id"]: row["owners"] for row in rows.annotate(owners=Count("owner_id", distinct=True))}


def rank_of(submission: Submission) -> int | None:
    """The rank of this submission; None where it is not published or another of its owner is better."""
    entries = board_entries(submission.board)
    return next((ranked.rank for ranked in entries if ranked.entry.submission_id == submission.pk), None)


def incumbent_ratio(*, board: Board, without: Submission) -> float | None:
    """The best published ratio of a board, not counting one submission."""
    best: float | None = (
        Entry.objects.filter(board=board).exclude(submission=without).aggregate(best=Min("ratio"))["best"]
    )
    return best
