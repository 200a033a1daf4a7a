"""Places of an award that are in doubt, and the state of the runs that settle them.

On a single board, the leader of each group that takes a prize is paired with the first entrant behind that group.
First place is always confirmed, as a record is (docs/records.md); further places only if the entrant behind is within
REACH. Over several boards, the winner of first place is paired with the first entrant behind on each board that the
winner leads. Two neighbours in the standing are paired on each board where the upper of them leads within REACH.

Tied entrants are not confirmed: the track's tie rule decides between them, not speed. A first-to-beat track is decided
by the time of submission, and is not confirmed either.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import F, Q

from leaderboard.awards.standing import BoardStanding
from leaderboard.awards.winners import Outcome, TrackPlace
from leaderboard.competitions.models import Track
from leaderboard.confirmations.models import Confirmation
from leaderboard.standings.ranking.ranking import Value

REACH: Final = 0.05  # share of the upper kernel's time
MOST_PAIRS: Final = 40  # per award

Submissions = tuple[int, ...]


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
    """Return each pair's newest confirmation by the problem's current version: one query for all.

    Pairs are in JSON form.
    """
    pairs = list(found)
    if not pairs:
        return []
    condition = Q()
    for pair in pairs:
        condition |= Q(candidate__in=pair["candidate"], incumbent__in=pair["incumbent"])
    decided = Confirmation.objects.filter(condition, version=F("board__version"))
    rows = list(decided.select_related("found").order_by("-id"))
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
