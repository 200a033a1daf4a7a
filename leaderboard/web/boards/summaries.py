"""Boards and collections in lists of many: leaders, number of entrants, and the viewer's own place.

The number of queries is fixed for any number of boards. Rankings come from memory (standings/read/table.py); only the
names of the shown leaders are read.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import quote

from leaderboard.accounts.models import User
from leaderboard.competitions.models import EVERYBODY, FAST_P, Board, Competition
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.permissions import memberships_of
from leaderboard.standings.ranking.overall import OverallLine
from leaderboard.standings.ranking.ranking import Place, tied_first
from leaderboard.standings.read.boards import Look, RankedEntry, counted, leaders_of, looks

NUMBERS: Final = re.compile(r"(\D*)([0-9]{0,9})")


@dataclass(frozen=True)
class BoardSummary:
    """A board in a list, as the public sees it now."""

    board: Board
    entrants: int
    leaders: Sequence[RankedEntry]  # the first of its ranking
    own: Place | None  # the viewer's; None: the viewer has no line
    is_open: bool
    tied: int  # entrants who share the first rank; 0: nobody shares it

    @property
    def address(self) -> str:
        return f"/boards/{self.board.slug}/{quote(self.board.hardware, safe='')}"

    @property
    def leader(self) -> RankedEntry | None:
        return self.leaders[0] if self.leaders else None

    @property
    def why_unsupported(self) -> str:
        """Return why this site cannot judge the problem; "" when it can."""
        return str(getattr(self.board, "why_unsupported", ""))


@dataclass(frozen=True)
class CollectionPlace:
    """The standing of a collection on one kind of hardware, by fast_p."""

    hardware: str
    problems: int  # that this site can judge
    solved: int  # problems with a line
    leader: OverallLine | None
    own: OverallLine | None
    group: str  # whose standing has the viewer's line
    entrants: int


@dataclass(frozen=True)
class CollectionSummary:
    """A collection in a list: one card for all its boards."""

    competition: Competition
    problems: int
    places: Sequence[CollectionPlace]  # by hardware
    is_open: bool


def own_entrants(viewer: Viewer) -> dict[int, int]:
    """Map competitions to the viewer's current entrant there: one query; empty for a visitor."""
    if not isinstance(viewer, User):
        return {}
    return dict(memberships_of(viewer).order_by().values_list("competition", "entrant"))


def summaries(
    boards: Iterable[Board], seen: Mapping[int, Look], own: Mapping[int, int], now: datetime, *, leaders: int = 1
) -> list[BoardSummary]:
    """Summarise boards. `seen`: their looks; `own`: the viewer's entrant by competition; `leaders`: how many of each.

    Two queries.
    """
    listed = list(boards)
    first = leaders_of([seen[board.pk].current for board in listed], leaders)
    found = []
    for board in listed:
        places = seen[board.pk].current.places
        ahead = [first.get(place.value.submissions[0]) for place in places[:leaders]]
        found.append(
            BoardSummary(
                board=board,
                entrants=sum(len(one.current.places) for one in seen[board.pk].groups),
                leaders=[line for line in ahead if line is not None],
                own=own_place(seen[board.pk], own.get(board.competition_id)),
                is_open=board.is_open_at(now),
                tied=tied_first(places),
            )
        )
    return found


def own_place(look: Look, entrant: int | None) -> Place | None:
    return None if entrant is None else look.with_line_of(entrant).current.place_of(entrant)


def group_of(boards: Iterable[Board], seen: Mapping[int, Look], entrant: int | None) -> str:
    """Return the group in whose rankings this entrant has a line; without any line, that of people."""
    found = [seen[board.pk].with_line_of(entrant) for board in boards] if entrant is not None else []
    return next((look.group for look in found if entrant in look.current.at), EVERYBODY)


def judged(boards: Iterable[Board]) -> list[Board]:
    """Return the listed boards whose problem this site can judge."""
    return [board for board in boards if not getattr(board, "why_unsupported", "")]


def collection_summary(
    competition: Competition, boards: Sequence[Board], seen: Mapping[int, Look], own: int | None, now: datetime
) -> CollectionSummary:
    """Summarise a collection from the looks of its boards, without a query. `own`: the viewer's entrant."""
    by_hardware: dict[str, list[Board]] = defaultdict(list)
    for board in judged(boards):
        by_hardware[board.hardware].append(board)
    places = []
    for hardware, here in sorted(by_hardware.items()):
        tables = {board.pk: seen[board.pk].current for board in here}
        lines = counted(tables, FAST_P)
        group = group_of(here, seen, own)
        beside = counted({board.pk: seen[board.pk].of(group).current for board in here}, FAST_P)
        mine = next((line for line in beside if line.entrant_id == own), None) if own is not None else None
        solved = sum(bool(table.places) for table in tables.values())
        places.append(CollectionPlace(hardware, len(here), solved, next(iter(lines), None), mine, group, len(lines)))
    problems = len({board.slug for here in by_hardware.values() for board in here})
    return CollectionSummary(competition, problems, places, any(board.is_open_at(now) for board in boards))


def names_of(lines: Iterable[OverallLine | None]) -> dict[int, str]:
    """Map the entrants of these lines to the names that the public reads: one query, or none without lines."""
    known = {line.entrant_id for line in lines if line is not None}
    return {entrant.pk: entrant.shown_name for entrant in Entrant.objects.filter(pk__in=known)} if known else {}


@dataclass(frozen=True)
class CompetitionBoards:
    """All visible boards of a competition: rows by problem, or a summary of a collection."""

    rows: Sequence[BoardSummary]
    collection: CollectionSummary | None
    names: Mapping[int, str]  # of entrants in the collection's standing


def boards_of(competition: Competition, viewer: Viewer, now: datetime, *, is_collection: bool) -> CompetitionBoards:
    """Return the boards of a competition that the viewer may see, as the public sees their standing."""
    boards = list(boards_seen_by(viewer).filter(competition=competition).for_lists())
    seen, own = looks(boards, now=now), own_entrants(viewer)
    if is_collection:
        collection = collection_summary(competition, boards, seen, own.get(competition.pk), now)
        return CompetitionBoards((), collection, names_of(place.leader for place in collection.places))
    rows = summaries(boards, seen, own, now)
    rows.sort(key=lambda row: (by_number(row.board.title), row.board.slug, row.board.hardware))
    return CompetitionBoards(rows, None, {})


def by_number(title: str) -> list[tuple[str, int]]:
    """Return a key that sorts 2.9 before 2.17."""
    return [(text.casefold(), int(digits or 0)) for text, digits in NUMBERS.findall(title)]
