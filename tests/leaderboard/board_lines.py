"""A board as its page shows it: its timing epochs and its ranked lines."""

from datetime import datetime

from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import Board
from leaderboard.standings.read.boards import BoardEpoch, RankedEntry, lines_of, look
from leaderboard.standings.read.table import NO_LINES


def board_epochs(board: Board, *, stage: Stage, now: datetime, in_full: bool = False) -> list[BoardEpoch]:
    """Return the ranked epoch, then further epochs with shown lines, newest first; none without lines."""
    return list(look(board, stage=stage, now=now, in_full=in_full).epochs)


def board_entries(
    board: Board,
    epoch: str,
    *,
    stage: Stage,
    now: datetime,
    in_full: bool = False,
    start: int = 0,
    most: int | None = None,
) -> list[RankedEntry]:
    """Return the board in an epoch: best first, one line per entrant; `most` lines from `start` on."""
    table = look(board, stage=stage, now=now, in_full=in_full).tables.get(epoch, NO_LINES)
    return lines_of(table, table.places[start : None if most is None else start + most])
