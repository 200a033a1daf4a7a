"""Standings as page and API show them: of one board, and over a competition's boards, from a given line on.

While a standing is frozen the public sees it as it was at the freeze. People with a role in the competition see it in
full: on pages unless they ask for the public standing, over the API when they ask for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404

from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Stage, current_stage, is_frozen_at, stages_by
from leaderboard.competitions.models import MEMBERS, SCORINGS, Board, Competition, Role
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_seen_by, has_role
from leaderboard.entrants.enter import entrant_of
from leaderboard.entrants.models import Entrant
from leaderboard.errors import UserError
from leaderboard.standings.ranking.progress import Gap, NextRank, faster_than, gap, next_rank
from leaderboard.standings.ranking.ranking import Place
from leaderboard.standings.read.boards import BoardEpoch, Look, Overall, RankedEntry, lines_of, look, overall_standing
from leaderboard.standings.read.records import marks
from leaderboard.standings.read.table import NO_LINES, Table
from leaderboard.web.paging import Page, page_of_list

MIN_BAND: Final = 0.4  # per cent of the strip: a narrower interval could not be seen
MOST_COLUMNS: Final = 10  # boards with their own column; more do not fit on a page


@dataclass(frozen=True)
class Strip:
    """Positions on a row's strip, in per cent of its length.

    The scale is the ratio to the baseline, so the baseline's mark is at the same place on every row.
    """

    run: float
    band_start: float
    band_width: float
    base: float


@dataclass(frozen=True)
class BoardRow:
    """An entrant's row of a board."""

    ranked: RankedEntry
    own: bool
    strip: Strip
    record: str  # whether first place is confirmed; "": not applicable
    gap: Gap | None = None  # to the line above; None: it is the first, tied with that line, or stands before it

    @property
    def runs(self) -> int:
        """Runs in the value."""
        return len(self.ranked.value.submissions)


def rows(
    ranked: Sequence[RankedEntry],
    own: int | None,
    records: Mapping[int, str] | None = None,
    above: Place | None = None,
) -> list[BoardRow]:
    """Return the rows of a ranking on strips of one common scale, up to the slowest kernel or the baseline.

    `own`: the viewer's entrant, or None. `records`: marks of records by submission. `above`: the place before the first
    row.
    """
    longest = max((line.value.ratio * (1 + (line.value.half_width or 0)) for line in ranked), default=1.0)
    scale = 100 / max(longest, 1.0)
    found = []
    ahead = None if above is None else (above.rank, above.value.ratio)
    for line in ranked:
        run, half_width = line.value.ratio * scale, line.value.half_width or 0
        width = max(MIN_BAND, 2 * run * half_width) if half_width else 0.0
        strip = Strip(round(run, 2), round(run - width / 2, 2), round(width, 2), round(scale, 2))
        record = (records or {}).get(line.entry.submission_id, "")
        is_behind = ahead is not None and ahead[0] != line.rank
        behind = gap(line.value, line.score_us, ahead[1]) if ahead is not None and is_behind else None
        ahead = line.rank, line.value.ratio
        found.append(BoardRow(line, line.entry.entrant_id == own, strip, record, behind))
    return found


def own_entrant(viewer: Viewer, competition: Competition) -> int | None:
    found = entrant_of(viewer, competition) if isinstance(viewer, User) else None
    return found.pk if found else None


@dataclass(frozen=True)
class OwnStanding:
    """The viewer's line, and what the next rank takes."""

    line: RankedEntry
    entrants: int
    faster_than: float  # share of the others that are slower
    next: NextRank | None  # None: the viewer leads alone
    lead: Gap | None  # of a viewer who leads alone: what the next line lacks, as a share of that line's time

    @property
    def share(self) -> Gap | None:
        """What the viewer's kernel lacks to share the next rank."""
        ratio = self.next.share_ratio if self.next else None
        return gap(self.line.value, self.line.score_us, ratio) if ratio is not None else None

    @property
    def alone(self) -> Gap | None:
        """What the viewer's kernel lacks to stand before the group ahead."""
        return gap(self.line.value, self.line.score_us, self.next.alone_ratio) if self.next else None


def own_standing(table: Table, entrant: int | None, known: Sequence[RankedEntry] = ()) -> OwnStanding | None:
    """Return the standing of the viewer's entrant; None: it has no line.

    `known`: lines of the table that were read already. Two queries at most.
    """
    at = table.at.get(entrant) if entrant is not None else None
    found = [line for line in known if line.value.entrant_id == entrant]
    if at is not None and not found:
        found = lines_of(table, [table.places[at]])
    if at is None or not found:
        return None
    behind = table.places[at + 1].value if at + 1 < len(table.places) else None
    ahead = next_rank(table.places, at)
    ratio = table.places[at].value.ratio
    return OwnStanding(
        line=found[0],
        entrants=len(table.places),
        faster_than=faster_than([place.value.ratio for place in table.places], ratio),
        next=ahead,
        lead=gap(behind, 0.0, ratio) if behind is not None and ahead is None else None,
    )


@dataclass(frozen=True)
class Asked:
    """The part of a standing that an address asks for; None: the default. `scoring` and `hardware`: over boards.

    `cursor`: of the list `name`, in place of `start`.
    """

    stage: Stage | None = None
    epoch: str | None = None
    group: str = ""  # where agents rank apart; "": people
    division: str = ""
    hardware: str = ""
    scoring: str = ""
    in_full: bool = False
    start: int = 0
    most: int = 100
    cursor: str = ""
    name: str = ""

    def page(self, lines: Sequence[Any], entrant: Callable[[Any], int]) -> Page:
        """Return the asked part of all lines. `entrant`: of a line."""
        return page_of_list(lines, key=entrant, name=self.name, cursor=self.cursor, size=self.most, start=self.start)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Some rows of a standing."""

    asked: Asked
    page: Page
    stages: list[Stage]
    rows: Sequence[Any]
    groups: tuple[str, ...]  # that have a ranking of their own; empty: everybody is in this ranking
    group: str
    total: int
    frozen_at: datetime | None  # the public standing of this stage stands still since then
    in_full: bool  # more is shown than the public sees

    @property
    def last(self) -> int:
        return self.asked.start + len(self.rows)

    @property
    def earlier(self) -> int | None:
        return max(0, self.asked.start - self.asked.most) if self.asked.start else None

    @property
    def later(self) -> int | None:
        return self.last if self.last < self.total else None


@dataclass(frozen=True, kw_only=True)
class BoardShown(Shown):
    stage: Stage
    epochs: tuple[BoardEpoch, ...]
    epoch: BoardEpoch | None
    divisions: Sequence[str]  # of the ranking's entrants
    own_place: int | None  # index of the viewer's row, from 0
    own: OwnStanding | None  # None: the viewer has no line

    @property
    def own_page(self) -> int | None:
        """Return the start of the page with the viewer's own row, or None if it is on this page."""
        if self.own_place is None or self.asked.start <= self.own_place < self.last:
            return None
        return self.own_place - self.own_place % self.asked.most


@dataclass(frozen=True, kw_only=True)
class OverallShown(Shown):
    competition: Competition
    standing: Overall
    places: list[str]  # all hardware
    own: int | None  # the viewer's entrant
    sees_more: bool

    @property
    def columns(self) -> bool:
        return len(self.standing.boards) <= MOST_COLUMNS


def shown_groups(competition: Competition) -> tuple[str, ...]:
    """Return the groups between which a viewer chooses; empty where agents rank with people."""
    return tuple(group for group in competition.groups if group)


def check_group(competition: Competition, asked: str) -> str:
    """Return the asked group, by default that of people. Raise UserError where agents rank with people."""
    if asked and asked not in competition.groups:
        text = f"agents rank with people in {competition}; leave it out, or choose a division"
        raise UserError("group", asked, text, status=404)
    return asked or competition.groups[0]


def group_of_page(request: HttpRequest, competition: Competition) -> str:
    """Return the group that a page's address asks for. Raises Http404 for a group that no link of the site names."""
    try:
        return check_group(competition, request.GET.get("group", ""))
    except UserError:
        raise Http404 from None


def show(board: Board, asked: Asked, viewer: Viewer, now: datetime, *, known: Look) -> BoardShown:
    """Return a board's standing. The caller checks who may ask for `in_full`.

    `known`: the public's look at the current stage. Raises Http404 if there is no such stage or epoch.
    """
    schedule = board.competition.schedule
    stages = stages_by(schedule, now)
    stage = asked.stage or current_stage(schedule, now)
    is_frozen = stage is Stage.CONTEST and is_frozen_at(schedule, now)
    in_full = asked.in_full and is_frozen
    group = check_group(board.competition, asked.group)
    seen = known if known.stage is stage and not in_full else look(board, stage=stage, now=now, in_full=in_full)
    seen = seen.of(group)
    epoch = next((found for found in seen.epochs if asked.epoch in (None, found.name)), None)
    if stage not in stages or (asked.epoch is not None and epoch is None):
        raise Http404
    table = seen.tables.get(epoch.name, NO_LINES) if epoch else NO_LINES
    places = table.places  # a division's rows keep their ranks of the whole ranking
    if asked.division:
        found = Entrant.objects.filter(competition=board.competition_id, division=asked.division).order_by()
        entrants = set(found.values_list("pk", flat=True))
        places = tuple(place for place in places if place.value.entrant_id in entrants)
    own = own_entrant(viewer, board.competition)
    asked_before = schedule.freeze_at if is_frozen and not in_full else None
    page = asked.page(places, lambda place: place.value.entrant_id)
    ranked = lines_of(table, page.rows)
    return BoardShown(
        asked=asked,
        page=page,
        stage=stage,
        stages=stages,
        divisions=[division for division in board.competition.divisions if division in MEMBERS[group]],
        epochs=seen.epochs,
        epoch=epoch,
        rows=rows(
            ranked,
            own,
            marks(table.places, epoch.name, asked_before) if epoch and stage is Stage.CONTEST else None,
            places[page.start - 1] if 0 < page.start <= len(places) else None,
        ),
        groups=shown_groups(board.competition),
        group=group,
        total=len(places),
        frozen_at=schedule.freeze_at if is_frozen else None,
        in_full=in_full,
        own_place=next((at for at, place in enumerate(places) if place.value.entrant_id == own), None) if own else None,
        own=own_standing(table, own, ranked),
    )


def show_overall(slug: str, asked: Asked, viewer: Viewer, now: datetime) -> OverallShown:
    """Return the standing over a competition's boards. People without a role never see it in full.

    Raises Http404 if the viewer may not see it, or the hardware, scoring or stage does not exist.
    """
    competition = get_object_or_404(competitions_seen_by(viewer), slug=slug)
    stages = stages_by(competition.schedule, now)
    seen = boards_seen_by(viewer).judged().filter(competition=competition)
    every = list(seen.select_related("competition", "problem"))
    places = sorted({board.hardware for board in every})
    if (
        asked.scoring not in ("", *SCORINGS)
        or asked.hardware not in ("", *places)
        or asked.stage not in (None, *stages)
    ):
        raise Http404
    group = check_group(competition, asked.group)
    sees_more = has_role(viewer, competition, Role.VIEWER)
    is_frozen = is_frozen_at(competition.schedule, now) and asked.stage in (None, Stage.CONTEST)
    in_full = is_frozen and sees_more and asked.in_full
    boards = [board for board in every if asked.hardware in ("", board.hardware)]
    standing = overall_standing(
        competition, boards=boards, in_full=in_full, scoring=asked.scoring, stage=asked.stage, now=now, group=group
    )
    page = asked.page(standing.lines, lambda line: line.entrant_id)
    return OverallShown(
        competition=competition,
        page=page,
        standing=standing,
        asked=asked,
        places=places,
        stages=stages,
        rows=standing.rows(page.start, len(page.rows)),
        groups=shown_groups(competition),
        group=group,
        total=len(standing.lines),
        own=own_entrant(viewer, competition),
        frozen_at=competition.freeze_at if is_frozen else None,
        in_full=in_full,
        sees_more=sees_more,
    )
