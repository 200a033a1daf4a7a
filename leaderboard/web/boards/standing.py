"""One board's standing by stage, epoch and division, from a given line on.

While a board is frozen the public sees it as it was at the freeze. People with a role in the competition see it in
full: on pages unless they ask for the public standing, over the API when they ask for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser

from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import Stage, current_stage, is_frozen_at, stages_by
from leaderboard.competitions.models import Board, Role
from leaderboard.competitions.permissions import has_role
from leaderboard.entrants.models import Entrant
from leaderboard.standings.ranking.ranking import Place
from leaderboard.standings.read.boards import BoardEpoch, Look, lines_of, look
from leaderboard.standings.read.records import marks
from leaderboard.standings.read.table import NO_LINES, Table
from leaderboard.web.boards.rows import Line, own_entrant, rows


@dataclass(frozen=True)
class Asked:
    """The part of a standing that an address asks for; None: the default."""

    stage: Stage | None = None
    epoch: str | None = None
    division: str = ""
    in_full: bool = False
    start: int = 0
    most: int = 100


@dataclass(frozen=True)
class Shown:
    board: Board
    asked: Asked
    stage: Stage
    stages: list[Stage]
    epochs: tuple[BoardEpoch, ...]
    epoch: BoardEpoch | None
    rows: list[Line]
    total: int  # lines of this division
    frozen_at: datetime | None  # the public standing of this stage stands still since then
    in_full: bool  # more is shown than the public sees
    own_place: int | None  # index of the viewer's line, from 0

    @property
    def last(self) -> int:
        return self.asked.start + len(self.rows)

    @property
    def earlier(self) -> int | None:
        return max(0, self.asked.start - self.asked.most) if self.asked.start else None

    @property
    def later(self) -> int | None:
        return self.last if self.last < self.total else None

    @property
    def own_page(self) -> int | None:
        """Return the start of the page with the viewer's own line, or None if it is on this page."""
        if self.own_place is None or self.asked.start <= self.own_place < self.last:
            return None
        return self.own_place - self.own_place % self.asked.most


def may_see_in_full(viewer: User | AnonymousUser, board: Board) -> bool:
    return has_role(viewer, board.competition, Role.VIEWER)


def show(
    board: Board, asked: Asked, viewer: User | AnonymousUser, now: datetime, *, known: Look | None = None
) -> Shown | None:
    """Return the standing, or None if there is no such stage or epoch. The caller checks who may ask for `in_full`.

    `known`: the public's look at the current stage, if the caller has it.
    """
    schedule = board.competition.schedule
    stages = stages_by(schedule, now)
    stage = asked.stage or current_stage(schedule, now)
    frozen = stage is Stage.CONTEST and is_frozen_at(schedule, now)
    in_full = asked.in_full and frozen
    is_known = known is not None and known.stage is stage and not in_full
    seen = known if is_known and known else look(board, stage=stage, now=now, in_full=in_full)
    epoch = next((known for known in seen.epochs if asked.epoch in (None, known.name)), None)
    if stage not in stages or (asked.epoch is not None and epoch is None):
        return None
    table = seen.tables.get(epoch.name, NO_LINES) if epoch else NO_LINES
    places = _of_division(table, board, asked.division)
    own = own_entrant(viewer, board.competition)
    asked_before = schedule.freeze_at if frozen and not in_full else None
    ranked = lines_of(table, places[asked.start : asked.start + asked.most])
    return Shown(
        board=board,
        asked=asked,
        stage=stage,
        stages=stages,
        epochs=seen.epochs,
        epoch=epoch,
        rows=rows(ranked, own, marks(table.places, asked_before) if stage is Stage.CONTEST else {}),
        total=len(places),
        frozen_at=schedule.freeze_at if frozen else None,
        in_full=in_full,
        own_place=next((at for at, place in enumerate(places) if place.value.entrant_id == own), None) if own else None,
    )


def _of_division(table: Table, board: Board, division: str) -> tuple[Place, ...]:
    """Return the lines of a division, or all lines for "". They keep their ranks of the whole board."""
    if not division:
        return table.places
    found = Entrant.objects.filter(competition=board.competition_id, division=division).order_by()
    entrants = set(found.values_list("pk", flat=True))
    return tuple(place for place in table.places if place.value.entrant_id in entrants)
