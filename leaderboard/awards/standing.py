"""The ranking of a track as lines of awards.winners, from the contest's standing with no freeze applied.

overall        the overall standing over all boards of the competition
hardware       the overall standing over its boards of one hardware
board          the ranking of one board
tag            the overall standing over its boards with the tag
first_to_beat  entrants by their first time below a given share of the baseline's time, on one board
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Q

from leaderboard.awards.winners import Line
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import FAST_P, POINTS, Board, Track
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.overall import Line as OverallLine
from leaderboard.standings.ranking.ranking import Place, Run, Value, pool
from leaderboard.standings.read.boards import looks
from leaderboard.standings.read.competition import overall_standing
from leaderboard.standings.read.table import run_of
from leaderboard.standings.read.windows import inside, window

MOST_LINES: Final = 500  # read from a standing


@dataclass(frozen=True)
class BoardStanding:
    """The contest standing of a board, in its current epoch."""

    board: Board
    runs: tuple[Run, ...]
    places: tuple[Place, ...]
    basis: list[Any]  # of every line: submission, attempt, ratio


def board_standings(track: Track, *, now: datetime) -> list[BoardStanding]:
    """Return the standing of each board of the track, in a few queries for any number of boards."""
    boards = boards_of(track)
    seen = looks(boards, now=now, stage=Stage.CONTEST, in_full=True)
    epochs = {pk: look.epochs[0].name for pk, look in seen.items() if look.epochs}
    condition = Q(pk__in=[])
    for board in boards:
        if board.pk in epochs:
            counted = window(board, Stage.CONTEST, now, in_full=True)
            condition |= Q(inside(counted), board=board, epoch=epochs[board.pk])
    lines: dict[int, list[Entry]] = {board.pk: [] for board in boards}
    for entry in Entry.objects.filter(condition).order_by("submission_id"):
        lines[entry.board_id].append(entry)
    return [
        _standing(board, epochs.get(board.pk, ""), seen[board.pk].current.places, lines[board.pk]) for board in boards
    ]


def boards_of(track: Track) -> list[Board]:
    boards = Board.objects.with_parts().filter(competition=track.competition_id)
    params = track.params
    if track.kind == Track.HARDWARE:
        boards = boards.filter(hardware=params.get("hardware", ""))
    elif track.kind == Track.TAG:
        boards = boards.filter(tags__contains=[params.get("tag", "")])
    elif track.kind in (Track.BOARD, Track.FIRST_TO_BEAT):
        boards = boards.filter(slug=params.get("slug", ""), hardware=params.get("hardware", ""))
    return list(boards.order_by("slug", "hardware"))


def lines_of(track: Track, boards: list[BoardStanding], *, now: datetime) -> list[Line]:
    if track.kind == Track.FIRST_TO_BEAT:
        return _first_to_beat(track, boards)
    if track.kind == Track.BOARD:
        return _of_board(boards)
    return _overall(track, boards, now)


def _standing(board: Board, epoch: str, places: tuple[Place, ...], entries: list[Entry]) -> BoardStanding:
    basis = [board.pk, board.version_id, epoch, *([e.submission_id, e.attempt_id, e.ratio] for e in entries)]
    return BoardStanding(board, tuple(map(run_of, entries)), places, basis)


def _of_board(boards: list[BoardStanding]) -> list[Line]:
    return [
        Line(place.value.entrant_id, place.rank, order, _said(place.value, one.board))
        for one in boards
        for order, place in enumerate(one.places[:MOST_LINES])
    ]


def _first_to_beat(track: Track, boards: list[BoardStanding]) -> list[Line]:
    target, found = float(track.params.get("ratio", 0)), dict[int, tuple[Value, Board]]()
    for one in boards:
        beaten = (value for value in pool(one.runs) if value.ratio < target)
        for value in sorted(beaten, key=lambda value: (value.submitted_at, value.submissions[0])):
            found.setdefault(value.entrant_id, (value, one.board))
    ordered = sorted(found.values(), key=lambda one: (one[0].submitted_at, one[0].submissions[0]))[:MOST_LINES]
    return [Line(v.entrant_id, number, number, _said(v, board)) for number, (v, board) in enumerate(ordered, 1)]


def _overall(track: Track, boards: list[BoardStanding], now: datetime) -> list[Line]:
    found = overall_standing(
        track.competition, boards=[one.board for one in boards], now=now, stage=Stage.CONTEST, in_full=True
    )
    return [
        Line(
            line.entrant_id, line.rank, at, f"{_scored(line, found.scoring)} over {line.solved} of {len(boards)} boards"
        )
        for at, line in enumerate(found.lines[:MOST_LINES])
    ]


def _scored(line: OverallLine, scoring: str) -> str:
    if scoring == POINTS:
        return f"{line.score:g} points"
    if scoring == FAST_P:
        return f"faster than the baseline on {100 * line.score:.0f} % of boards"
    return f"{line.score:.3f}× as fast as the baseline in the geometric mean"


def _said(value: Value, board: Board) -> str:
    runs = f", mean of {len(value.submissions)} runs" if len(value.submissions) > 1 else ""
    return (
        f"{1 / value.ratio:.3f}× as fast as the baseline of {board.title} on {board.hardware}{runs}, "
        f"sent {value.submitted_at:%Y-%m-%d %H:%M:%S} UTC"
    )
