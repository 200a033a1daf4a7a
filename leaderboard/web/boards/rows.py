"""The lines of a ranking as pages and API show them: entrant, speed, certainty, and position on its strip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.contrib.auth.models import AnonymousUser

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition
from leaderboard.entrants.enter import entrant_of
from leaderboard.entrants.models import Entrant
from leaderboard.standings.read.boards import RankedEntry

MIN_BAND: Final = 0.4  # per cent of the strip: a narrower interval could not be seen
NO_MARKS: Final[Mapping[int, str]] = {}


@dataclass(frozen=True)
class Strip:
    """Positions on a line's strip, in per cent of its length.

    The scale is the ratio to the baseline, so the baseline's mark is at the same place on every line.
    """

    run: float
    band_start: float
    band_width: float
    base: float


@dataclass(frozen=True)
class Line:
    rank: int  # shared by tied lines
    tied: bool
    user: str  # the entrant's shown name
    entrant: Entrant
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
    light: float | None  # share of the speed of light, of the first run
    strip: Strip
    record: str  # whether first place is confirmed; "": not applicable


def rows(ranked: Sequence[RankedEntry], own: int | None, marks: Mapping[int, str] = NO_MARKS) -> list[Line]:
    """Return ranking lines on strips of one common scale.

    `own`: the viewer's entrant, or None. `marks`: marks of records by submission.
    """
    longest = max((_extent(line) for line in ranked), default=1.0)
    return [_line(line, own, 100 / longest, marks.get(line.entry.submission_id, "")) for line in ranked]


def own_entrant(viewer: User | AnonymousUser, competition: Competition) -> int | None:
    found = entrant_of(viewer, competition) if isinstance(viewer, User) else None
    return found.pk if found else None


def _extent(ranked: RankedEntry) -> float:
    """Return the largest ratio to draw for a line: its own with the interval, or the baseline's, which is 1."""
    return max(ranked.value.ratio * (1 + (ranked.value.half_width or 0)), 1.0)


def _line(ranked: RankedEntry, own: int | None, scale: float, record: str) -> Line:
    entry = ranked.entry
    return Line(
        rank=ranked.rank,
        tied=ranked.is_tied,
        user=entry.entrant.shown_name,
        entrant=entry.entrant,
        own=entry.entrant_id == own,
        score_us=ranked.score_us,
        ratio=ranked.value.ratio,
        half_width=ranked.value.half_width,
        forgeable=ranked.value.forgeable,
        telemetry=ranked.telemetry,
        runs=len(ranked.value.submissions),
        epoch=entry.epoch,
        submitted_at=entry.submitted_at,
        submission=entry.submission_id,
        light=entry.light,
        strip=_strip(ranked, scale),
        record=record,
    )


def _strip(ranked: RankedEntry, scale: float) -> Strip:
    run, half_width = ranked.value.ratio * scale, ranked.value.half_width or 0
    width = max(MIN_BAND, 2 * run * half_width) if half_width else 0.0
    return Strip(
        run=round(run, 2),
        band_start=round(run - width / 2, 2),
        band_width=round(width, 2),
        base=round(scale, 2),
    )
