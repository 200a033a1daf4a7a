"""Tracks and prizes in words."""

from __future__ import annotations

from leaderboard.awards.winners import money
from leaderboard.competitions.models import Prize, Track
from leaderboard.web.figures import significant


def track_said(track: Track) -> str:
    """Return the standing or board that decides a track, in words."""
    told = track.params
    board = f"{told.get('slug')} on {told.get('hardware')}"
    match track.kind:
        case Track.HARDWARE:
            return f"the standing over all boards on {told.get('hardware')}"
        case Track.BOARD:
            return f"the board {board}"
        case Track.TAG:
            return f"the standing over the boards tagged {told.get('tag')}"
        case Track.FIRST_TO_BEAT:
            return f"the first to be {significant(1 / told['ratio'], 3)}× as fast as the baseline of {board}"
    return "the standing over all boards"


def prize_said(prize: Prize) -> str:
    """Return a prize in words, as in "EUR 1,000 and a GPU"."""
    paid = money(prize.amount, prize.currency) if prize.amount is not None else ""
    return " and ".join(part for part in (paid, prize.text) if part) or "–"
