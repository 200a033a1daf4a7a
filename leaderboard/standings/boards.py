"""What pages and the API read of the standings: Entry and nothing else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Min

from leaderboard.competitions.models import Board
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking import Line, rank
from leaderboard.submissions.models import Submission


@dataclass(frozen=True)
class RankedEntry:
    rank: int
    entry: Entry


def board_entries(board: Board) -> list[RankedEntry]:
    """The board, best first, one line an owner."""
    entries = {entry.submission_id: entry for entry in Entry.objects.filter(board=board).select_related("owner")}
    lines = rank(Line(it.score_us, it.submitted_at, it.submission_id, it.owner_id) for it in entries.values())
    return [RankedEntry(place, entries[line.submission_id]) for place, line in enumerate(lines, start=1)]


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
