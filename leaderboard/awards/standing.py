"""The ranking of a track over the whole contest, without a freeze; entrants who may not win, and places in doubt.

overall        ranked by the overall standing over all boards of the competition
hardware       ranked by the overall standing over the boards of one hardware
board          ranked as the board is
tag            ranked by the overall standing over the boards with the tag
first_to_beat  ranked by the time of an entrant's first kernel below a given share of the baseline's time, on one board

Where agents rank apart, a track is for divisions of a single group (competitions/edit.py) and has its ranking.

An entrant may not win because of their division, a missing declaration, a suspension or a result under review.

Places in doubt are settled by confirmations. On a single board, the leader of each group that takes a prize is paired
with the first entrant behind that group. First place is always confirmed, as a record is (docs/records.md); further
places only if the entrant behind is within REACH. Over several boards, the winner of first place is paired with the
first entrant behind on each board that the winner leads. Two neighbours in the standing are paired on each board where
the upper of them leads within REACH. Tied entrants are not confirmed: the track's tie rule decides between them, not
speed. A first-to-beat track is decided by the time of submission, and is not confirmed either.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import F, Q

from leaderboard.awards.winners import Outcome, TrackPlace
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.edit import groups_of
from leaderboard.competitions.models import FAST_P, POINTS, Board, Track
from leaderboard.confirmations.models import Confirmation
from leaderboard.entrants.models import Entrant, Membership, in_group
from leaderboard.judging.epochs import RankedEpochs
from leaderboard.judging.models import Attempt
from leaderboard.review.standing import held_results
from leaderboard.review.suspension import suspended_users
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.ranking import Place, Run, Value, pool
from leaderboard.standings.read.boards import looks, overall_standing
from leaderboard.standings.read.table import inside, run_of, whole_window

MOST_LINES: Final = 500  # read from a standing
REACH: Final = 0.05  # share of the upper kernel's time
MOST_PAIRS: Final = 40  # per award
UNDER_REVIEW: Final = "a result of theirs on a board of this track is under review: decide on it, then propose again"
SUSPENDED: Final = "an account of theirs is suspended or closed"
GONE: Final = "nobody competes in it any more: all who did have left"

Submissions = tuple[int, ...]


@dataclass(frozen=True)
class BoardStanding:
    """The contest standing of a board, in its current epoch."""

    board: Board
    runs: tuple[Run, ...]
    places: tuple[Place, ...]
    basis: list[Any]  # board, version, epoch, then submission, attempt and ratio of every line


@dataclass(frozen=True)
class Pair:
    """Two kernels on one board; `upper` ranks above and must be shown to be faster."""

    board: int
    where: str
    upper: int
    lower: int
    gap: float  # extra time of the lower kernel, as a share of the upper's time
    candidate: Submissions  # runs of the upper's kernel, the earliest first
    incumbent: Submissions


def board_standings(track: Track, *, now: datetime) -> list[BoardStanding]:
    """Return the standing of each board of the track, in a few queries for any number of boards."""
    boards, group = boards_of(track), group_of(track)
    found = looks(boards, now=now, stage=Stage.CONTEST, in_full=True)
    seen = {pk: look.of(group) for pk, look in found.items()}
    epochs = {pk: look.epochs[0].name for pk, look in seen.items() if look.epochs}
    condition = Q(pk__in=[])
    for board in boards:
        if board.pk in epochs:
            counted = inside(whole_window(board, Stage.CONTEST))
            condition |= Q(counted, board=board, epoch=epochs[board.pk])
    lines: dict[int, list[Entry]] = {board.pk: [] for board in boards}
    for entry in Entry.objects.filter(condition, in_group(group)).order_by("submission_id"):
        lines[entry.board_id].append(entry)
    standings = []
    for board in boards:
        entries = lines[board.pk]
        basis = [board.pk, board.version_id, epochs.get(board.pk, "")]
        basis += [[entry.submission_id, entry.attempt_id, entry.ratio] for entry in entries]
        standings.append(BoardStanding(board, tuple(map(run_of, entries)), seen[board.pk].current.places, basis))
    return standings


def group_of(track: Track) -> str:
    return next(iter(groups_of(track.competition, track.divisions)))


def boards_of(track: Track) -> list[Board]:
    boards = Board.objects.with_parts().filter(competition=track.competition_id)
    params = track.params
    if track.kind in (Track.BOARD, Track.FIRST_TO_BEAT):
        boards = boards.filter(slug=params.get("slug", ""), hardware=params.get("hardware", ""))
    else:
        boards = boards.judged()
    if track.kind == Track.HARDWARE:
        boards = boards.filter(hardware=params.get("hardware", ""))
    elif track.kind == Track.TAG:
        boards = boards.filter(tags__contains=[params.get("tag", "")])
    return list(boards.order_by("slug", "hardware"))


def places_of(track: Track, boards: list[BoardStanding], *, now: datetime) -> list[TrackPlace]:
    """Rank the entrants of a track, at most MOST_LINES of each standing.

    Boards show tied lines fastest first; awards take them by the time at which an entrant was first that fast.
    """
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
            for order, place in enumerate(sorted(one.places, key=lambda place: (place.rank, place.since))[:MOST_LINES])
        ]
    found = overall_standing(
        track.competition,
        boards=[one.board for one in boards],
        now=now,
        stage=Stage.CONTEST,
        in_full=True,
        group=group_of(track),
    )
    places = []
    by_time = sorted(found.lines, key=lambda line: (line.rank, line.reached_at, line.entrant_id))
    for order, line in enumerate(by_time[:MOST_LINES]):
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
    members = list(rows.select_related("user__linked_to", "user__agent_of__linked_to"))
    suspended = suspended_users([one.user_id for one in members], track.competition)
    peopled = {one.entrant_id for one in members}
    stopped = {one.entrant_id for one in members if one.user_id in suspended or not one.user.is_usable}
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


def pairs(track: Track, boards: list[BoardStanding], places: Sequence[TrackPlace], outcome: Outcome) -> list[Pair]:
    """Return the pairs to confirm, at most MOST_PAIRS. `places`: of entrants who may win."""
    winners = {winner.entrant_id for winner in outcome.winners}
    won = [place for place in places if place.entrant_id in winners]
    if track.kind == Track.FIRST_TO_BEAT or not won:
        return []
    if track.kind == Track.BOARD:
        found = _of_groups(boards[0], won, places)
    else:
        found = itertools.chain(_led_boards(boards, won, places), _neighbours(boards, won, places))
    return list(dict.fromkeys(found))[:MOST_PAIRS]


def newest(found: Iterable[dict[str, Any]]) -> list[Confirmation | None]:
    """Return each pair's newest confirmation by the problem's current version, in the epoch that the contest ranks.

    A fixed number of queries. Pairs are in JSON form.
    """
    pairs = list(found)
    if not pairs:
        return []
    condition = Q()
    for pair in pairs:
        condition |= Q(candidate__in=pair["candidate"], incumbent__in=pair["incumbent"])
    decided = Confirmation.objects.filter(condition, version=F("board__version"))
    rows = list(decided.select_related("found", "board").order_by("-id"))
    ranked = RankedEpochs([row.board for row in rows])
    rows = [row for row in rows if not hasattr(row, "found") or row.found.epoch == ranked.of(row.board, Stage.CONTEST)]
    return [
        next(
            (row for row in rows if row.candidate_id in pair["candidate"] and row.incumbent_id in pair["incumbent"]),
            None,
        )
        for pair in pairs
    ]


def _of_groups(standing: BoardStanding, won: Sequence[TrackPlace], places: Sequence[TrackPlace]) -> Iterator[Pair]:
    """Pair the leader of each group that takes a prize with the first entrant behind that group."""
    values = {place.value.entrant_id: place.value for place in standing.places}
    for rank in sorted({place.rank for place in won}):
        group = [values[place.entrant_id] for place in places if place.rank == rank]
        behind = [values[place.entrant_id] for place in places if place.rank > rank]
        if not behind:
            return
        upper, lower = min(group, key=lambda value: value.ratio), min(behind, key=lambda value: value.ratio)
        is_first = rank == min(place.rank for place in places)
        if is_first or _gap(upper, lower) < REACH:
            yield _pair(standing, upper, lower)


def _led_boards(boards: list[BoardStanding], won: Sequence[TrackPlace], places: Sequence[TrackPlace]) -> Iterator[Pair]:
    """Pair winners of first place, on each board that they lead, with the first eligible entrant behind."""
    may_win, best = {place.entrant_id for place in places}, min(place.rank for place in places)
    first = {place.entrant_id for place in won if place.rank == best}
    for standing in boards:
        here = [place for place in standing.places if place.value.entrant_id in may_win]
        behind = [place.value for place in here if place.rank > here[0].rank]
        if behind:
            leaders = (place.value for place in here if place.rank == here[0].rank)
            yield from (_pair(standing, leader, behind[0]) for leader in leaders if leader.entrant_id in first)


def _neighbours(boards: list[BoardStanding], won: Sequence[TrackPlace], places: Sequence[TrackPlace]) -> Iterator[Pair]:
    """Pair consecutive entrants that are not tied, if the first has a prize, on boards that it leads within REACH."""
    found = [(standing, {place.value.entrant_id: place for place in standing.places}) for standing in boards]
    ordered = sorted(places, key=lambda place: (place.rank, place.order))
    for above, below in itertools.pairwise(ordered):
        if above not in won or above.rank == below.rank:
            continue
        for standing, here in found:
            upper, lower = here.get(above.entrant_id), here.get(below.entrant_id)
            if upper and lower and upper.rank < lower.rank and _gap(upper.value, lower.value) < REACH:
                yield _pair(standing, upper.value, lower.value)


def _gap(upper: Value, lower: Value) -> float:
    return lower.ratio / upper.ratio - 1


def _pair(standing: BoardStanding, upper: Value, lower: Value) -> Pair:
    return Pair(
        board=standing.board.pk,
        where=f"{standing.board.title} on {standing.board.hardware}",
        upper=upper.entrant_id,
        lower=lower.entrant_id,
        gap=_gap(upper, lower),
        candidate=upper.submissions,
        incumbent=lower.submissions,
    )
