"""A board's progress as its page shows it: lines over time, the distribution of the field, and the viewer's standing.

The lines are those of the fastest kernel, of the first places, of the viewer, and of people whom the address names.
They come from the shown lines of one table: one stage, one timing epoch, as the public sees them.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any, Final

from django.db.models import Q
from django.db.models.functions import Lower

from leaderboard.competitions.models import Board
from leaderboard.entrants.models import Entrant
from leaderboard.standings.models import Entry
from leaderboard.standings.ranking.progress import Best, Bin, bests, distribution
from leaderboard.standings.ranking.ranking import Place, Run, tied_first
from leaderboard.standings.read.table import COLUMNS, Table
from leaderboard.web.boards.curves import Tick
from leaderboard.wording.figures import speedup

MOST_FIRST: Final = 5  # people in the chart from the top of the board
MOST_ASKED: Final = 4  # people in the chart whom the address names: as many colours are left
MAX_NAME_CHARS: Final = 150
MOST_POINTS: Final = 400  # of a line
LEFT, RIGHT, BOTTOM, HIGH = 30.0, 630.0, 160.0, 130.0  # of the drawing of the field


@dataclass(frozen=True)
class Series:
    """A line of the chart. `rank` None: of the fastest kernel."""

    name: str
    points: Sequence[Best]
    rank: int | None = None
    is_tied: bool = False
    own: bool = False

    @property
    def first(self) -> Best:
        return self.points[0]

    @property
    def last(self) -> Best:
        return self.points[-1]

    @property
    def gain(self) -> float:
        """Speedup now over the first speedup, as a relative change."""
        return self.first.ratio / self.last.ratio - 1

    @property
    def changes(self) -> int:
        return len(self.points) - 1


@dataclass(frozen=True)
class Bar:
    bin: Bin
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return round(self.x + self.width / 2, 1)

    @property
    def above(self) -> float:
        return round(self.y - 5, 1)

    @property
    def range(self) -> str:
        return f"{speedup(1 / self.bin.low) if self.bin.low > 0 else '0×'} to {speedup(1 / self.bin.high)}"

    @property
    def said(self) -> str:
        return f"{self.range}: {self.bin.count}"


@dataclass(frozen=True)
class FieldShown:
    """All kernels of a board by speedup. `median`, `tenth`, `best`: ratios."""

    entrants: int
    median: float
    tenth: float
    best: float
    tied: int  # entrants who share the first rank; 0: nobody shares it
    bars: Sequence[Bar]
    ticks: Sequence[Tick]


def chosen(table: Table, own: int | None, asked: Sequence[str], board: Board) -> tuple[list[Place], list[str]]:
    """Return the places in the chart, best first, and the asked names that have no line here: at most one query.

    A name counts as the public reads it, so a pseudonym hides the name behind it.
    """
    wanted = {place.value.entrant_id for place in table.places[:MOST_FIRST]}
    if own is not None:
        wanted.add(own)
    missing = []
    if asked:
        names = [name.lower() for name in asked]
        same = Entrant.objects.annotate(low=Lower("name"), low_pseudonym=Lower("pseudonym"))
        rows = same.filter(Q(low__in=names) | Q(low_pseudonym__in=names), competition=board.competition_id)
        found: dict[str, int] = {}
        for entrant in rows:
            is_hidden = entrant.pseudonym and entrant.revealed_at is None
            known = {entrant.pseudonym} if is_hidden else {entrant.name, entrant.pseudonym}
            found |= {name.lower(): entrant.pk for name in known if name and entrant.pk in table.at}
        wanted |= {found[name] for name in names if name in found}
        missing = [name for name in asked if name.lower() not in found]
    return [table.places[at] for at in sorted(table.at[entrant] for entrant in wanted if entrant in table.at)], missing


def refused_names(asked: Sequence[str], refused: Sequence[str]) -> str:
    """Return the error about asked names; "" without an error."""
    if refused:
        named = refused[0].replace("\x00", "�")[:MAX_NAME_CHARS]
        return f"“{named}” has no line on this board. Write the name as the board shows it."
    if len(asked) > MOST_ASKED:
        return f"The chart takes {MOST_ASKED} further people; {len(asked)} were named. Remove some."
    return ""


def series_of(table: Table, places: Sequence[Place], own: int | None) -> list[Series]:
    """Return the line of the fastest kernel, then a line per place: two queries, and the fastest on first use."""
    entrants = [place.value.entrant_id for place in places]
    runs: dict[int, list[Run]] = defaultdict(list)
    for row in Entry.objects.filter(table.runs, entrant__in=entrants).order_by().values_list(*COLUMNS):
        run = Run(*row)
        runs[run.entrant_id].append(run)
    names = {one.pk: one.shown_name for one in Entrant.objects.filter(pk__in=entrants)}
    lines = [
        Series(names[entrant], bests(runs[entrant]), place.rank, place.is_tied, entrant == own)
        for place, entrant in zip(places, entrants, strict=True)
        if entrant in names and runs[entrant]
    ]
    return [Series("Fastest", table.fastest), *lines] if table.places else []


def drawn(series: Sequence[Series], now: datetime) -> Mapping[str, Any]:
    """Return the data of the chart: seconds since 1970 and speedups."""
    return {
        "now": round(now.timestamp()),
        "series": [
            {
                "name": one.name,
                "points": [[round(best.at.timestamp()), round(1 / best.ratio, 6)] for best in thinned(one.points)],
            }
            for one in series
        ],
    }


def thinned(points: Sequence[Best]) -> Sequence[Best]:
    """Return at most MOST_POINTS of the points, the first and the last among them."""
    if len(points) <= MOST_POINTS:
        return points
    step = (len(points) - 1) / (MOST_POINTS - 1)
    return [points[round(number * step)] for number in range(MOST_POINTS)]


def field_shown(table: Table, own: Place | None) -> FieldShown:
    """Return the distribution of a table that has places."""
    ratios = [place.value.ratio for place in table.places]
    bins = distribution(ratios, own.value.ratio if own else None)
    width, most = (RIGHT - LEFT) / len(bins), max(one.count for one in bins)
    bars = []
    for at, one in enumerate(bins):
        height = round(HIGH * one.count / most, 1)
        bars.append(Bar(one, round(LEFT + at * width + 1, 1), round(BOTTOM - height, 1), round(width - 2, 1), height))
    edges = [*(one.low for one in bins), bins[-1].high]
    stride = max(1, -(-len(edges) // 8))
    ticks = [Tick(round(LEFT + at * width, 1), f"{edge:.3g}×") for at, edge in enumerate(edges) if at % stride == 0]
    ordered = sorted(ratios)
    return FieldShown(
        entrants=len(ratios),
        median=median(ratios),
        tenth=ordered[(len(ratios) - 1) // 10],
        best=ordered[0],
        tied=tied_first(table.places),
        bars=bars,
        ticks=ticks,
    )
