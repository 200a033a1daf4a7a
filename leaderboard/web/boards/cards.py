"""Boards as pages and API show them: cards by competition. Cards are public; no role shows more here."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache

from django.http import Http404

from leaderboard.competitions.models import Board, Competition, ProblemVersion
from leaderboard.competitions.permissions import Viewer, boards_seen_by
from leaderboard.standings.read.boards import Look, RankedEntry, leaders_of, looks
from leaderboard.web.paging import Page, page_of_list


@dataclass(frozen=True)
class Place:
    """The board of a card on one kind of hardware, with its ranking in the current stage and epoch."""

    board: Board
    look: Look
    leaders: Callable[[], Mapping[int, RankedEntry]] = field(repr=False)  # of all places, by their first submission

    @property
    def hardware(self) -> str:
        return self.board.hardware

    @property
    def entries(self) -> int:
        return sum(len(one.current.places) for one in self.look.groups)

    @property
    def leader(self) -> RankedEntry | None:
        """The first line of the ranking. The first use reads the leaders of all places of these cards at once."""
        leading = self.look.current.places[:1]
        return self.leaders().get(leading[0].value.submissions[0]) if leading else None


@dataclass(frozen=True)
class Card:
    """All boards of one slug: a problem on one or more kinds of hardware."""

    slug: str
    title: str
    competition: Competition
    version: ProblemVersion
    deadline: datetime | None
    is_open: bool
    places: tuple[Place, ...]

    @property
    def unsupported(self) -> str:
        """Return why this site cannot judge the problem; "" when it can."""
        listed = getattr(self.places[0].board, "why_unsupported", None)
        return str(self.version.part("unsupported", "") if listed is None else listed)

    @property
    def hardware(self) -> list[str]:
        return [place.hardware for place in self.places]

    @property
    def entries(self) -> dict[str, int]:
        return {place.hardware: place.entries for place in self.places}

    @property
    def versions(self) -> dict[str, ProblemVersion]:
        """The problem version by hardware. Each hardware times its own cases."""
        return {place.hardware: place.board.version for place in self.places}

    def place(self, hardware: str) -> Place:
        """Return the board on a hardware. Raises Http404."""
        for place in self.places:
            if place.hardware == hardware:
                return place
        raise Http404


def cards(viewer: Viewer, now: datetime) -> list[Card]:
    """Return every board of the site that is listed for this viewer, a card per slug."""
    return _cards(boards_seen_by(viewer, listed=True).for_lists(), now)


@dataclass(frozen=True)
class Wanted:
    """A part of the list of boards. An empty field narrows nothing; the case of letters does not count."""

    competition: str = ""
    hardware: str = ""
    is_open: bool | None = None
    text: str = ""

    def fits(self, board: Board, now: datetime) -> bool:
        """Return whether the board passes all filters but the hardware, which lists count separately."""
        names = (board.slug, board.title, board.hardware, board.competition.name, *board.tags)
        known = " ".join(names).casefold()
        return (
            self.competition in ("", board.competition.slug)
            and all(word in known for word in self.text.casefold().split())
            and (self.is_open is None or self.is_open == board.is_open_at(now))
        )

    def is_on(self, board: Board) -> bool:
        return self.hardware.casefold() in ("", board.hardware.casefold())


def page_of_cards(viewer: Viewer, wanted: Wanted, now: datetime, *, name: str, cursor: str, size: int) -> Page:
    """Return a page of the listed boards, by slug. Only the rankings of this page are read."""
    by_slug: dict[str, list[Board]] = defaultdict(list)
    for board in boards_seen_by(viewer, listed=True).for_lists():
        by_slug[board.slug].append(board)
    found = [
        boards[0]
        for _, boards in sorted(by_slug.items())
        if any(wanted.fits(board, now) and wanted.is_on(board) for board in boards)
    ]
    page = page_of_list(found, key=lambda board: board.slug, name=name, cursor=cursor, size=size)
    shown = [board for first in page.rows for board in by_slug[first.slug]]
    return replace(page, rows=_cards(shown, now))


def card(slug: str, viewer: Viewer, now: datetime) -> Card:
    """Return the card of a slug. Raises Http404 if there is none, and if this viewer may not see it."""
    found = _cards(boards_seen_by(viewer).with_parts().filter(slug=slug), now)
    if not found:
        raise Http404
    return found[0]


def _cards(boards: Iterable[Board], now: datetime) -> list[Card]:
    listed = list(boards)
    seen = looks(listed, now=now)
    leaders = cache(lambda: leaders_of([look.current for look in seen.values()]))
    by_slug: dict[str, list[Place]] = defaultdict(list)
    for board in listed:
        by_slug[board.slug].append(Place(board, seen[board.pk], leaders))
    found = []
    for slug, places in sorted(by_slug.items()):
        first = places[0].board
        deadlines = [place.board.closes_at for place in places]
        known = [deadline for deadline in deadlines if deadline is not None]
        found.append(
            Card(
                slug=slug,
                title=first.title,
                competition=first.competition,
                version=first.version,
                deadline=max(known) if len(known) == len(deadlines) else None,
                is_open=any(place.board.is_open_at(now) for place in places),
                places=tuple(places),
            )
        )
    return found
