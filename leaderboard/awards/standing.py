"""The ranking of a track over the whole contest, without a freeze, and the entrants who may not win.

overall        ranked by the overall standing over all boards of the competition
hardware       ranked by the overall standing over the boards of one hardware
board          ranked as the board is
tag            ranked by the overall standing over the boards with the tag
first_to_beat  ranked by the time of an entrant's first kernel below a given share of the baseline's time, on one board

An entrant may not win because of their division, a missing declaration, a suspension or a result under review.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Q

from leaderboard.awards.winners import TrackPlace
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import FAST_P, POINTS, Board, Track
from leaderboard.entrants.models import Entrant, Membership
from leaderboard.judging.models import Attempt
from leaderboard.review.standing import held_results
from leaderboard.review.suspension import suspended_users
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.ranking import Place, Run, Value, pool
from leaderboard.standings.read.boards import looks
from leaderboard.standings.read.competition import overall_standing
from leaderboard.standings.read.table import run_of
from leaderboard.standings.read.windows import inside, whole_window

MOST_LINES: Final = 500  # read from a standing
UNDER_REVIEW: Final = "a result of theirs on a board of this track is under review: decide on it, then propose again"
SUSPENDED: Final = "an account of theirs is suspended or closed"
GONE: Final = "nobody competes in it any more: all who did have left"


@dataclass(frozen=True)
class BoardStanding:
    """The contest standing of a board, in its current epoch."""

    board: Board
    runs: tuple[Run, ...]
    places: tuple[Place, ...]
    basis: list[Any]  # board, version, epoch, then submission, attempt and ratio of every line


def board_standings(track: Track, *, now: datetime) -> list[BoardStanding]:
    """Return the standing of each board of the track, in a few queries for any number of boards."""
    boards = boards_of(track)
    seen = looks(boards, now=now, stage=Stage.CONTEST, in_full=True)
    epochs = {pk: look.epochs[0].name for pk, look in seen.items() if look.epochs}
    condition = Q(pk__in=[])
    for board in boards:
        if board.pk in epochs:
            counted = inside(whole_window(board, Stage.CONTEST))
            condition |= Q(counted, board=board, epoch=epochs[board.pk])
    lines: dict[int, list[Entry]] = {board.pk: [] for board in boards}
    for entry in Entry.objects.filter(condition).order_by("submission_id"):
        lines[entry.board_id].append(entry)
    standings = []
    for board in boards:
        entries = lines[board.pk]
        basis = [board.pk, board.version_id, epochs.get(board.pk, "")]
        basis += [[entry.submission_id, entry.attempt_id, entry.ratio] for entry in entries]
        standings.append(BoardStanding(board, tuple(map(run_of, entries)), seen[board.pk].current.places, basis))
    return standings


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


def places_of(track: Track, boards: list[BoardStanding], *, now: datetime) -> list[TrackPlace]:
    """Rank the entrants of a track, at most MOST_LINES of each standing."""
    if track.kind == Track.FIRST_TO_BEAT:
        # By the time of an entrant's first kernel with a ratio below the target.
        target, firsts = float(track.params.get("ratio", 0)), dict[int, tuple[Value, Board]]()
        for one in boards:
            for value in sorted(pool(one.runs), key=lambda value: value.sent):
                if value.ratio < target:
                    firsts.setdefault(value.entrant_id, (value, one.board))
        ordered = sorted(firsts.values(), key=lambda first: first[0].sent)[:MOST_LINES]
        return [
            TrackPlace(value.entrant_id, number, number, _described(value, board))
            for number, (value, board) in enumerate(ordered, start=1)
        ]
    if track.kind == Track.BOARD:
        return [
            TrackPlace(place.value.entrant_id, place.rank, order, _described(place.value, one.board))
            for one in boards
            for order, place in enumerate(one.places[:MOST_LINES])
        ]
    found = overall_standing(
        track.competition, boards=[one.board for one in boards], now=now, stage=Stage.CONTEST, in_full=True
    )
    places = []
    for order, line in enumerate(found.lines[:MOST_LINES]):
        score = f"{line.score:.3f}× as fast as the baseline in the geometric mean"
        if found.scoring == POINTS:
            score = f"{line.score:g} points"
        elif found.scoring == FAST_P:
            score = f"faster than the baseline on {100 * line.score:.0f} % of boards"
        why = f"{score} over {line.solved} of {len(boards)} boards"
        places.append(TrackPlace(line.entrant_id, line.rank, order, why))
    return places


def _described(value: Value, board: Board) -> str:
    runs = f", mean of {len(value.submissions)} runs" if len(value.submissions) > 1 else ""
    return (
        f"{1 / value.ratio:.3f}× as fast as the baseline of {board.title} on {board.hardware}{runs}, "
        f"sent {value.submitted_at:%Y-%m-%d %H:%M:%S} UTC"
    )


def barred_entrants(track: Track, entrants: Sequence[int]) -> dict[int, str]:
    """Return the entrants of these who may not win, each with the first reason."""
    rows = Membership.objects.filter(entrant__in=entrants, left_at=None)
    members = list(rows.values_list("entrant", "user", "user__is_active"))
    suspended = suspended_users([user for _, user, _ in members], track.competition)
    peopled = {entrant for entrant, _, _ in members}
    stopped = {entrant for entrant, user, is_active in members if user in suspended or not is_active}
    held = set(held_entrants(track))
    found = {}
    for entrant in Entrant.objects.filter(pk__in=entrants):
        if entrant.pk not in peopled:
            found[entrant.pk] = GONE
        elif entrant.pk in stopped:
            found[entrant.pk] = SUSPENDED
        elif entrant.division not in track.divisions:
            divisions = ", ".join(sorted(track.divisions))
            found[entrant.pk] = f"division {entrant.division} is not in this track, which is for {divisions}"
        elif track.eligibility and track.slug not in entrant.declared:
            found[entrant.pk] = "has not declared to be eligible"
        elif entrant.pk in held:
            found[entrant.pk] = UNDER_REVIEW
    return found


def held_entrants(track: Track) -> list[int]:
    """Return the entrants with a contest result on a board of this track that still waits for a decision."""
    held = held_results().filter(_of_contest(track, "attempt__submission"))
    return list(held.order_by().values_list("attempt__submission__entrant", flat=True).distinct())


def unjudged(track: Track) -> int:
    """Count the contest submissions on boards of this track whose attempt is not finished."""
    sent = Attempt.objects.current().unfinished().filter(_of_contest(track, "submission"))
    return sent.filter(submission__mode="ranked").count()


def _of_contest(track: Track, submission: str) -> Q:
    condition = Q(pk__in=[])
    for board in boards_of(track):
        counted = inside(whole_window(board, Stage.CONTEST), f"{submission}__created_at")
        condition |= Q(counted, **{f"{submission}__board": board})
    return condition
