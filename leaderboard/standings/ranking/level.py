"""Kernels confirmed to be level: pairs of submissions that five runs with both in the blocks could not distinguish."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import F

from leaderboard.confirmations.models import CONFIRMED, REFUSED, Confirmation

Pair = tuple[int, int]  # candidate, incumbent


def level_pairs(boards: Iterable[int]) -> dict[int, tuple[Pair, ...]]:
    """Map boards to the pairs whose newest verdict is level; one query. Boards without pairs are left out."""
    found: dict[int, list[Pair]] = defaultdict(list)
    for (board, pair), outcome in verdicts(boards).items():
        if outcome == REFUSED:
            found[board].append(pair)
    return {board: tuple(pairs) for board, pairs in found.items()}


def verdicts(boards: Iterable[int]) -> dict[tuple[int, Pair], str]:
    """Map (board, pair) to its newest verdict by the problem's current version, if there is a verdict."""
    decided = Confirmation.objects.filter(
        board__in=list(boards), version=F("board__version"), outcome__in=(CONFIRMED, REFUSED)
    )
    rows = decided.order_by("id").values_list("board", "candidate", "incumbent", "outcome")
    return {(board, (candidate, incumbent)): outcome for board, candidate, incumbent, outcome in rows}
