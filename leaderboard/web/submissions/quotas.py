"""Remaining quota as page and API show it: by board, hardware and mode, with the time of the next free submission."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board
from leaderboard.submissions.ledger import levels
from runner.wire import MODES


@dataclass(frozen=True)
class Left:
    board: str
    hardware: str
    mode: str
    left: int
    capacity: int
    per_day: int
    next_at: datetime | None  # None: the whole quota is left


def what_is_left(owner: User, boards: Iterable[Board], now: datetime) -> list[Left]:
    boards = list(boards)
    found = levels(owner=owner, boards=boards, now=now)
    return [
        Left(
            board=board.slug,
            hardware=board.hardware,
            mode=mode,
            left=level.left,
            capacity=level.bucket.capacity,
            per_day=level.bucket.per_day,
            next_at=level.next_at,
        )
        for board in boards
        for mode in MODES
        for level in (found[board.pk, mode],)
    ]
