"""Places of an award that are in doubt, and the state of the runs that settle them.

On a single board, the leader of each group that takes a prize is paired with the first entrant behind that group.
First place is always confirmed, as a record is (docs/records.md); further places only if the entrant behind is within
REACH. Over several boards, the winner of first place is paired with the first entrant behind on each board that the
winner leads. Two neighbours in the standing are paired on each board where the upper of them leads within REACH.

Tied entrants are not confirmed: the track's tie rule decides between them, not speed. A first-to-beat track is decided
by the time of submission, and is not confirmed either.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import F, Q

from leaderboard.awards.standing import BoardStanding
from leaderboard.awards.winners import Line, Outcome
from leaderboard.competitions.models import Track
from leaderboard.confirmations.models import Confirmation
from leaderboard.standings.ranking.ranking import Place, Value

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

    def to_json(self) -> dict[str, Any]:
        return {
            "board": self.board,
            "where": self.where,
            "upper": self.upper,
            "lower": self.lower,
            "gap": self.gap,
            "candidate": list(self.candidate),
            "incumbent": list(self.incumbent),
        }


def pairs(track: Track, boards: list[BoardStanding], lines: Sequence[Line], outcome: Outcome) -> list[Pair]:
    """Return the pairs to confirm, at most MOST_PAIRS. `lines`: entrants who may win."""
    won = [line for line in lines if line.entrant_id in {winner.entrant_id for winner in outcome.winners}]
    if track.kind == Track.FIRST_TO_BEAT or not won:
        return []
    if track.kind == Track.BOARD:
        found = _of_groups(boards, won, lines)
    else:
        found = itertools.chain(_led_boards(boards, won, lines), _over_boards(boards, _neighbours(won, lines)))
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
    rows = list(
        Confirmation.objects.filter(condition, version=F("board__version")).select_related("found").order_by("-id")
    )
    return [next((row for row in rows if _is_of(row, pair)), None) for pair in pairs]


def _is_of(row: Confirmation, pair: dict[str, Any]) -> bool:
    return row.candidate_id in pair["candidate"] and row.incumbent_id in pair["incumbent"]


def _of_groups(boards: list[BoardStanding], won: Sequence[Line], lines: Sequence[Line]) -> Iterator[Pair]:
    [one] = boards
    values = {place.value.entrant_id: place.value for place in one.places}
    for rank in sorted({line.rank for line in won}):
        group = [values[line.entrant_id] for line in lines if line.rank == rank]
        behind = [values[line.entrant_id] for line in lines if line.rank > rank]
        if not behind:
            return
        upper, lower = min(group, key=lambda value: value.ratio), min(behind, key=lambda value: value.ratio)
        is_first = rank == min(line.rank for line in lines)
        if is_first or _gap(upper, lower) < REACH:
            yield _pair(one, upper, lower)


def _led_boards(boards: list[BoardStanding], won: Sequence[Line], lines: Sequence[Line]) -> Iterator[Pair]:
    """Pair winners of first place, on each board that they lead, with the first eligible entrant behind."""
    may_win, best = {line.entrant_id for line in lines}, min(line.rank for line in lines)
    first = {line.entrant_id for line in won if line.rank == best}
    for one in boards:
        places = [place for place in one.places if place.value.entrant_id in may_win]
        behind = [place.value for place in places if place.rank > places[0].rank]
        if behind:
            leaders = (place.value for place in places if place.rank == places[0].rank)
            yield from (_pair(one, leader, behind[0]) for leader in leaders if leader.entrant_id in first)


def _neighbours(won: Sequence[Line], lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Yield consecutive entrants of which the first has a prize and the second is not tied with it."""
    ordered = sorted(lines, key=lambda line: (line.rank, line.order))
    for above, below in itertools.pairwise(ordered):
        if above in won and above.rank != below.rank:
            yield above.entrant_id, below.entrant_id


def _over_boards(boards: list[BoardStanding], neighbours: Iterable[tuple[int, int]]) -> Iterator[Pair]:
    found = [(one, {place.value.entrant_id: place for place in one.places}) for one in boards]
    for above, below in neighbours:
        for one, places in found:
            if above in places and below in places and _is_close(places[above], places[below]):
                yield _pair(one, places[above].value, places[below].value)


def _is_close(upper: Place, lower: Place) -> bool:
    return upper.rank < lower.rank and _gap(upper.value, lower.value) < REACH


def _gap(upper: Value, lower: Value) -> float:
    return lower.ratio / upper.ratio - 1


def _pair(one: BoardStanding, upper: Value, lower: Value) -> Pair:
    return Pair(
        board=one.board.pk,
        where=f"{one.board.title} on {one.board.hardware}",
        upper=upper.entrant_id,
        lower=lower.entrant_id,
        gap=_gap(upper, lower),
        candidate=upper.submissions,
        incumbent=lower.submissions,
    )
