"""Competitions as pages and the API show them: lists by phase, and a competition with its parts.

The parts are problems, tracks, rules and news. Everything comes through the gate (competitions/permissions.py), so
objects that a viewer may not see are absent.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from leaderboard.accounts.models import User
from leaderboard.competitions.announce import announcements_of
from leaderboard.competitions.calendar import Phase
from leaderboard.competitions.models import CLOSED, DIVISIONS, Announcement, Competition, Prize, Track
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_seen_by, tracks_seen_by
from leaderboard.entrants.enter import entrant_of, has_accepted, rules_digest
from leaderboard.entrants.models import Entrant
from leaderboard.standings.read.collection import problems_by_collection
from leaderboard.web.boards.phases import PhaseShown, phase_shown

NUMBERS: Final = re.compile(r"(\D*)([0-9]{0,9})")
TIE_RULES: Final = {
    Track.EARLIER: "Among those who cannot be told apart, who was that fast first wins.",
    Track.SHARE: "Those who cannot be told apart share the places that they take, and their prizes.",
}


@dataclass(frozen=True)
class Summary:
    """A line of the list."""

    competition: Competition
    phase: PhaseShown
    entrants: int
    boards: int  # visible to the viewer


@dataclass(frozen=True)
class Section:
    title: str
    said: str  # shown when the section is empty
    summaries: list[Summary]


@dataclass(frozen=True)
class ProblemShown:
    slug: str
    title: str
    hardware: list[str]
    is_judged: bool


@dataclass(frozen=True)
class TrackShown:
    track: Track
    who: str  # the divisions that may win; "": all
    ties: str
    prizes: list[Prize]


@dataclass(frozen=True)
class You:
    """The viewer's position in a competition."""

    entrant: Entrant | None
    has_accepted: bool
    may_enter: bool
    has_all_boards: bool


@dataclass(frozen=True)
class Contest:
    competition: Competition
    phase: PhaseShown
    entrants: int
    problems: list[ProblemShown]
    is_collection: bool  # ranked by fast_p as a whole
    tracks: list[TrackShown]
    announcements: list[Announcement]
    rules_digest: str
    you: You | None  # None: the viewer is not signed in

    @property
    def is_closed(self) -> bool:
        return self.competition.visibility == CLOSED


def sections(viewer: Viewer, now: datetime) -> list[Section]:
    """Return the lists by phase: running by next change, coming by next change, past with the newest first."""
    found: dict[str, list[Summary]] = defaultdict(list)
    for summary in _summaries(viewer, now):
        found[_section(summary.phase.phase)].append(summary)
    running = sorted(found["running"], key=_by_change)
    coming = sorted(found["coming"], key=_by_change)
    past = sorted(found["past"], key=_by_end, reverse=True)
    return [
        Section("Running", "No competition runs at this moment.", running),
        Section("Coming", "", coming),
        Section("Past", "", past),
    ]


def contest(slug: str, viewer: Viewer, now: datetime) -> Contest | None:
    """Return a competition, or None if there is no such competition or this viewer may not see it."""
    competition = _counted(competitions_seen_by(viewer)).filter(slug=slug).first()
    if competition is None:
        return None
    phase = phase_shown(competition.schedule, now)
    return Contest(
        competition=competition,
        phase=phase,
        entrants=competition.entrants_now,
        problems=_problems(competition, viewer),
        is_collection=bool(problems_by_collection(boards_seen_by(viewer).filter(competition=competition))),
        tracks=[_track(track) for track in tracks_seen_by(viewer, competition).prefetch_related("prizes")],
        announcements=list(announcements_of(competition, viewer)),
        rules_digest=rules_digest(competition),
        you=_you(viewer, competition, phase) if isinstance(viewer, User) else None,
    )


def _summaries(viewer: Viewer, now: datetime) -> Iterable[Summary]:
    boards = boards_seen_by(viewer, listed=True).order_by().values("competition")
    counts = dict(boards.annotate(count=Count("slug", distinct=True)).values_list("competition", "count"))
    for competition in _counted(competitions_seen_by(viewer, listed=True)):
        yield Summary(
            competition=competition,
            phase=phase_shown(competition.schedule, now),
            entrants=competition.entrants_now,
            boards=counts.get(competition.pk, 0),
        )


def _counted(competitions: QuerySet[Competition]) -> QuerySet[Any]:
    """Annotate competitions with `entrants_now`, the number of their entrants with at least one member."""
    living = Entrant.objects.filter(competition=OuterRef("pk"), memberships__isnull=False, memberships__left_at=None)
    count = living.order_by().values("competition").annotate(count=Count("pk", distinct=True)).values("count")
    return competitions.annotate(entrants_now=Coalesce(Subquery(count), 0))


def _section(phase: Phase) -> str:
    if phase is Phase.BEFORE:
        return "coming"
    return "past" if phase in (Phase.REVIEW, Phase.FINAL, Phase.OPEN) else "running"


def _by_change(summary: Summary) -> tuple[bool, float, str]:
    until = summary.phase.until
    return until is None, until.timestamp() if until else 0.0, summary.competition.name


def _by_end(summary: Summary) -> float:
    ended = summary.competition.deadline or summary.competition.final_at
    return ended.timestamp() if ended else 0.0


def _problems(competition: Competition, viewer: Viewer) -> list[ProblemShown]:
    columns = ("slug", "problem__title", "version__bundle__unsupported", "hardware")
    found: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
    for slug, title, unsupported, hardware in (
        boards_seen_by(viewer).filter(competition=competition).values_list(*columns)
    ):
        found[slug, title, not unsupported].append(hardware)
    shown = [ProblemShown(slug, title, sorted(names), judged) for (slug, title, judged), names in found.items()]
    return sorted(shown, key=lambda one: (_by_number(one.title), one.slug))


def _by_number(title: str) -> list[tuple[str, int]]:
    """Return a sort key that puts 2.9 before 2.17."""
    return [(text, int(digits or 0)) for text, digits in NUMBERS.findall(title)]


def _track(track: Track) -> TrackShown:
    some = "" if set(track.divisions) == set(DIVISIONS) else " and ".join(sorted(track.divisions))
    return TrackShown(
        track=track,
        who=f"For the division{'s'[: len(track.divisions) > 1]} {some}." if some else "",
        ties=TIE_RULES[track.tie_rule],
        prizes=sorted(track.prizes.all(), key=lambda prize: prize.place),
    )


def _you(viewer: User, competition: Competition, phase: PhaseShown) -> You:
    entrant = entrant_of(viewer, competition)
    seen = boards_seen_by(viewer).filter(competition=competition).count()
    return You(
        entrant=entrant,
        has_accepted=has_accepted(viewer, competition),
        may_enter=entrant is not None or phase.phase not in (Phase.REVIEW, Phase.FINAL),
        has_all_boards=seen == competition.boards.count(),
    )
