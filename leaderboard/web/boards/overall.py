"""The standing over a competition's boards with the requested filters, for the page and the API."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leaderboard.competitions.calendar import Stage, is_frozen_at, stages_by
from leaderboard.competitions.models import FAST_P, GEOMETRIC_MEAN, POINTS, SCORINGS, Competition, Role
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_seen_by, has_role
from leaderboard.standings.read.competition import Overall, Row, overall_standing
from leaderboard.web.boards.rows import own_entrant

MOST_COLUMNS: Final = 10  # boards with their own column; more do not fit on a page
SAID: Final = {POINTS: "points", GEOMETRIC_MEAN: "geometric mean", FAST_P: "fast_p"}
EXPLAINED: Final = {
    POINTS: "25, 18, 15, 12, 10, 8, 6, 4, 2, 1 for the first ten of each board; who is tied shares the points of the "
    "places taken together, and the interval is what the ties could come to.",
    GEOMETRIC_MEAN: "The geometric mean of the speedups over the baseline, over all boards. A board without a kernel, "
    "or with one slower than the baseline, counts as the baseline itself.",
    FAST_P: "The share of boards that are surely faster than the baseline; then that of those more than twice as fast, "
    "then that of boards solved at all.",
}


@dataclass(frozen=True)
class Shown:
    competition: Competition
    standing: Overall
    hardware: str  # "": all
    places: list[str]  # all hardware
    stages: list[Stage]
    rows: list[Row]
    start: int
    most: int
    own: int | None  # the viewer's entrant
    frozen_at: datetime | None
    in_full: bool
    sees_more: bool

    @property
    def total(self) -> int:
        return len(self.standing.lines)

    @property
    def last(self) -> int:
        return self.start + len(self.rows)

    @property
    def earlier(self) -> int | None:
        return max(0, self.start - self.most) if self.start else None

    @property
    def later(self) -> int | None:
        return self.last if self.last < self.total else None

    @property
    def columns(self) -> bool:
        return len(self.standing.boards) <= MOST_COLUMNS


def show(
    slug: str,
    viewer: Viewer,
    now: datetime,
    *,
    hardware: str = "",
    scoring: str = "",
    stage: Stage | None = None,
    wants_full: bool = False,
    start: int = 0,
    most: int = 100,
) -> Shown | None:
    """Return the standing, or None if the viewer may not see it or a hardware, scoring or stage does not exist."""
    competition = competitions_seen_by(viewer).filter(slug=slug).first()
    if competition is None or scoring not in ("", *SCORINGS):
        return None
    stages = stages_by(competition.schedule, now)
    every = list(boards_seen_by(viewer).select_related("competition", "problem").filter(competition=competition))
    places = sorted({board.hardware for board in every})
    if hardware not in ("", *places) or (stage is not None and stage not in stages):
        return None
    sees_more = has_role(viewer, competition, Role.VIEWER)
    look: dict[str, Any] = {"scoring": scoring, "stage": stage, "now": now}
    boards = [board for board in every if hardware in ("", board.hardware)]
    frozen = is_frozen_at(competition.schedule, now) and stage in (None, Stage.CONTEST)
    in_full = frozen and sees_more and wants_full
    standing = overall_standing(competition, boards=boards, in_full=in_full, **look)
    return Shown(
        competition=competition,
        standing=standing,
        hardware=hardware,
        places=places,
        stages=stages,
        rows=standing.rows(start, most),
        start=start,
        most=most,
        own=own_entrant(viewer, competition),
        frozen_at=competition.freeze_at if frozen else None,
        in_full=in_full,
        sees_more=sees_more,
    )
