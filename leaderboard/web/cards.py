"""What pages and API show of boards: cards by competition, and the lines of one board with their strips."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from leaderboard.competitions.models import Board, Competition, ProblemVersion
from leaderboard.competitions.visible import Viewer, boards_seen_by, competitions_seen_by
from leaderboard.standings.boards import BoardEpoch, RankedEntry, board_entries, board_epochs
from leaderboard.standings.collection import problems_by_collection

MIN_BAND: Final = 0.4  # per cent of the strip: a narrower interval could not be seen

HOW_RANKED: Final = (
    "Ranked by time relative to the baseline in the same run, the mean over all ranked runs of the same kernel; "
    "times are on the scale of the board's median baseline run."
)
RANKINGS: Final = {
    "geom": "Geometric mean over the timing cases",
    "mean": "Mean over the timing cases",
    "last": "The last timing case alone",
}


@dataclass(frozen=True)
class Strip:
    """Where things are on a line's strip, in per cent of the slowest time shown."""

    run: float
    band_start: float
    band_width: float
    base: float | None


@dataclass(frozen=True)
class Line:
    rank: int  # shared by those who are tied
    tied: bool
    user: str
    own: bool
    score_us: float
    ratio: float
    half_width: float | None
    forgeable: float
    telemetry: str
    runs: int  # in the value
    epoch: str
    submitted_at: datetime
    submission: int
    strip: Strip


@dataclass(frozen=True)
class Place:
    """One hardware of a card: its board, the epochs that it has lines of, and what is ranked in the current one."""

    board: Board
    epochs: tuple[BoardEpoch, ...]
    ranked: tuple[RankedEntry, ...]

    @property
    def hardware(self) -> str:
        return self.board.hardware

    @property
    def entries(self) -> int:
        return len(self.ranked)

    @property
    def leader(self) -> RankedEntry | None:
        return self.ranked[0] if self.ranked else None


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
        """Why it cannot be judged here; "" when it can."""
        return str(self.version.part("unsupported", ""))

    @property
    def hardware(self) -> list[str]:
        return [place.hardware for place in self.places]

    @property
    def entries(self) -> dict[str, int]:
        return {place.hardware: place.entries for place in self.places}

    def place(self, hardware: str) -> Place | None:
        return next((place for place in self.places if place.hardware == hardware), None)


@dataclass(frozen=True)
class Group:
    competition: Competition
    cards: list[Card]
    problems: int = 0  # of a collection: it has a page of its own, and no card a problem


@dataclass(frozen=True)
class Preview:
    hardware: str
    rows: list[Line]


def cards(viewer: Viewer, now: datetime) -> list[Card]:
    """Every board of the site that is listed for this viewer, one card a slug."""
    return _cards(boards_seen_by(viewer, listed=True).with_parts(), now)


def card(slug: str, viewer: Viewer, now: datetime) -> Card | None:
    """None where there is none, and where this viewer may not see it."""
    found = _cards(boards_seen_by(viewer).with_parts().filter(slug=slug), now)
    return found[0] if found else None


def groups(viewer: Viewer, now: datetime) -> list[Group]:
    """Cards by competition; open boards before closed ones. Of a collection how many problems it has."""
    boards = boards_seen_by(viewer, listed=True)
    counts = problems_by_collection(boards)
    found: dict[int, Group] = {}
    for item in _cards(boards.with_parts().exclude(competition__in=list(counts)), now):
        found.setdefault(item.competition.pk, Group(item.competition, [])).cards.append(item)
    for group in found.values():
        group.cards.sort(key=lambda item: (not item.is_open, item.title))
    collections = [Group(one, [], counts[one.pk]) for one in competitions_seen_by(viewer).filter(pk__in=list(counts))]
    return sorted([*found.values(), *collections], key=lambda group: group.competition.name)


def place_at(place: Place, epoch: str) -> Place | None:
    """The board in another epoch; None where it has no line of that."""
    if epoch not in {known.name for known in place.epochs}:
        return None
    return replace(place, ranked=tuple(board_entries(place.board, epoch)))


def preview(place: Place, viewer: Viewer, most: int | None = None) -> Preview:
    """The first lines of a board, drawn on strips of one common scale."""
    shown = place.ranked[:most]
    longest = max((_extent(ranked) for ranked in shown), default=1.0)
    rows = [_line(ranked, viewer, longest) for ranked in shown]
    return Preview(hardware=place.hardware, rows=rows)


def _cards(boards: Iterable[Board], now: datetime) -> list[Card]:
    by_slug: dict[str, list[Board]] = defaultdict(list)
    for board in boards:
        by_slug[board.slug].append(board)
    return [_card(slug, same, now) for slug, same in sorted(by_slug.items())]


def _card(slug: str, boards: list[Board], now: datetime) -> Card:
    first = boards[0]
    deadlines = [closes for board in boards if (closes := board.closes_at) is not None]
    return Card(
        slug=slug,
        title=first.title,
        competition=first.competition,
        version=first.version,
        deadline=max(deadlines) if len(deadlines) == len(boards) else None,
        is_open=any(board.is_open_at(now) for board in boards),
        places=tuple(_place(board) for board in boards),
    )


def _place(board: Board) -> Place:
    epochs = tuple(board_epochs(board))
    return Place(board, epochs, tuple(board_entries(board, epochs[0].name)) if epochs else ())


def _extent(ranked: RankedEntry) -> float:
    """The slowest thing to be drawn for a line: itself with its interval, or its baseline."""
    return max(ranked.score_us * (1 + (ranked.value.half_width or 0)), ranked.score_us / ranked.value.ratio)


def _line(ranked: RankedEntry, viewer: Viewer, longest_us: float) -> Line:
    entry = ranked.entry
    return Line(
        rank=ranked.rank,
        tied=ranked.is_tied,
        user=entry.entrant.shown_name,
        own=entry.owner_id == viewer.pk,
        score_us=ranked.score_us,
        ratio=ranked.value.ratio,
        half_width=ranked.value.half_width,
        forgeable=ranked.value.forgeable,
        telemetry=ranked.telemetry,
        runs=len(ranked.value.submissions),
        epoch=entry.epoch,
        submitted_at=entry.submitted_at,
        submission=entry.submission_id,
        strip=_strip(ranked, 100 / longest_us),
    )


def _strip(ranked: RankedEntry, scale: float) -> Strip:
    run, half_width = ranked.score_us * scale, ranked.value.half_width or 0
    width = max(MIN_BAND, 2 * run * half_width) if half_width else 0.0
    return Strip(
        run=round(run, 2),
        band_start=round(run - width / 2, 2),
        band_width=round(width, 2),
        base=round(run / ranked.value.ratio, 2),
    )
