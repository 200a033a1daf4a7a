"""Competitions as pages and the API show them: lists by phase, and a competition with its parts.

The parts are problems, tracks, rules, news, and the phase in words. Everything comes through the gate
(competitions/permissions.py), so objects that a viewer may not see are absent.
"""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.shortcuts import get_object_or_404
from django.template.defaultfilters import pluralize

from leaderboard.accounts.models import User
from leaderboard.awards.winners import money
from leaderboard.competitions.access import announcements_of
from leaderboard.competitions.calendar import TAKING, Phase, Schedule, is_frozen_at, span_at, timeline
from leaderboard.competitions.models import DIVISIONS, Announcement, Board, Competition, Prize, Track
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_seen_by, tracks_seen_by
from leaderboard.entrants.enter import entrant_of, has_accepted, rules_digest
from leaderboard.entrants.models import Membership
from leaderboard.standings.read.boards import problems_by_collection
from leaderboard.web.boards.summaries import by_number
from leaderboard.wording.figures import significant

TIE_RULES: Final = {
    Track.EARLIER: "Among tied entrants, the one who was that fast first wins.",
    Track.SHARE: "Tied entrants share their places and the prizes of these places.",
}
SECTIONS: Final = {Phase.BEFORE: "coming", Phase.REVIEW: "past", Phase.FINAL: "past", Phase.OPEN: "past"}

_TITLES: Final = {
    Phase.BEFORE: "Not started",
    Phase.PRACTICE: "Practice",
    Phase.CONTEST: "Contest",
    Phase.FROZEN: "Frozen",
    Phase.REVIEW: "Under review",
    Phase.FINAL: "Final",
    Phase.OPEN: "Open again",
}
_MEANINGS: Final = {
    Phase.BEFORE: "submissions are not open yet.",
    Phase.PRACTICE: "submissions do not count. The contest starts with an empty standing of its own.",
    Phase.CONTEST: "submissions count.",
    Phase.FROZEN: "submissions count, and their results appear at the reveal.",
    Phase.REVIEW: "submissions are closed, and results are reviewed before the standing becomes final.",
    Phase.FINAL: "the standing is final, and submissions are closed.",
    Phase.OPEN: "the contest's standing is final. New submissions rank in a separate standing.",
}
_CHANGES: Final = {
    Phase.BEFORE: "begins",
    Phase.PRACTICE: "practice begins",
    Phase.CONTEST: "the contest begins",
    Phase.FROZEN: "the standing freezes",
    Phase.REVIEW: "closes",
    Phase.FINAL: "becomes final",
    Phase.OPEN: "becomes final and opens again",
}
_TONES: Final = {Phase.PRACTICE: "running", Phase.CONTEST: "good", Phase.FROZEN: "warn", Phase.REVIEW: "warn"}


@dataclass(frozen=True)
class Step:
    """A phase of the timeline."""

    title: str
    since: datetime | None
    until: datetime | None
    state: str  # past, now, coming


@dataclass(frozen=True)
class PhaseShown:
    phase: Phase
    title: str
    meaning: str  # follows the title
    tone: str  # of its chip
    until: datetime | None  # the next change; None: none is known
    change: str  # the event at `until`
    steps: list[Step]

    @property
    def takes(self) -> bool:
        return self.phase in TAKING


@dataclass(frozen=True)
class Summary:
    """A competition in the list."""

    competition: Competition
    phase: PhaseShown
    entrants: int
    boards: int  # visible to the viewer


@dataclass(frozen=True)
class Contest:
    competition: Competition
    phase: PhaseShown
    entrants: int
    problems: list[dict[str, Any]]
    is_collection: bool  # ranked by fast_p as a whole
    tracks: list[dict[str, Any]]
    announcements: list[Announcement]
    rules_digest: str
    you: dict[str, Any] | None  # the viewer's position; None: the viewer is not signed in


def phase_shown(schedule: Schedule, now: datetime) -> PhaseShown:
    spans, here = timeline(schedule), span_at(schedule, now)
    at = spans.index(here)
    meaning = _MEANINGS[here.phase]
    if here.phase is Phase.REVIEW and is_frozen_at(schedule, now):
        meaning += " Results from the freeze on are shown at the reveal."
    states = ["past"] * at + ["now"] + ["coming"] * (len(spans) - at - 1)
    steps = [
        Step(_TITLES[span.phase], span.since, span.until, state) for span, state in zip(spans, states, strict=True)
    ]
    if spans[-1].phase is Phase.REVIEW:  # an organiser has yet to declare its end
        steps.append(Step(_TITLES[Phase.OPEN if schedule.stays_open else Phase.FINAL], None, None, "coming"))
    return PhaseShown(
        phase=here.phase,
        title=_TITLES[here.phase],
        meaning=meaning,
        tone=_TONES.get(here.phase, ""),
        until=here.until,
        change=_CHANGES[spans[at + 1].phase] if here.until is not None else "",
        steps=steps,
    )


def sections(viewer: Viewer, now: datetime) -> dict[str, list[Summary]]:
    """Return the lists by phase: running by next change, coming by next change, past with the newest first."""
    boards = boards_seen_by(viewer, listed=True).order_by().values("competition")
    counts = dict(boards.annotate(count=Count("slug", distinct=True)).values_list("competition", "count"))
    found: dict[str, list[Summary]] = defaultdict(list)
    for competition in _counted(competitions_seen_by(viewer, listed=True)):
        phase = phase_shown(competition.schedule, now)
        summary = Summary(competition, phase, competition.entrants_now, counts.get(competition.pk, 0))
        found[SECTIONS.get(phase.phase, "running")].append(summary)

    def by_change(summary: Summary) -> tuple[bool, float, str]:
        until = summary.phase.until
        return until is None, until.timestamp() if until else 0.0, summary.competition.name

    def by_end(summary: Summary) -> float:
        ended = summary.competition.deadline or summary.competition.final_at
        return ended.timestamp() if ended else 0.0

    return {
        "Running": sorted(found["running"], key=by_change),
        "Coming": sorted(found["coming"], key=by_change),
        "Past": sorted(found["past"], key=by_end, reverse=True),
    }


def contest(slug: str, viewer: Viewer, now: datetime) -> Contest:
    """Return a competition. Raises Http404 if there is none, and if this viewer may not see it."""
    competition = get_object_or_404(_counted(competitions_seen_by(viewer)), slug=slug)
    phase = phase_shown(competition.schedule, now)
    boards = boards_seen_by(viewer).filter(competition=competition)
    you = None
    if isinstance(viewer, User):
        entrant = entrant_of(viewer, competition)
        you = {
            "entrant": entrant,
            "has_accepted": has_accepted(viewer, competition),
            "may_enter": entrant is not None or phase.phase not in (Phase.REVIEW, Phase.FINAL),
            "has_all_boards": boards.count() == competition.boards.count(),
        }
    return Contest(
        competition=competition,
        phase=phase,
        entrants=competition.entrants_now,
        problems=_problems(boards),
        is_collection=bool(problems_by_collection(boards)),
        tracks=[_track(track) for track in tracks_seen_by(viewer, competition).prefetch_related("prizes")],
        announcements=list(announcements_of(competition, viewer)),
        rules_digest=rules_digest(competition),
        you=you,
    )


def _counted(competitions: QuerySet[Competition]) -> QuerySet[Any]:
    """Annotate competitions with `entrants_now`, the number of their entrants with at least one member."""
    living = Membership.objects.filter(competition=OuterRef("pk"), left_at=None).order_by().values("competition")
    count = living.annotate(count=Count("entrant", distinct=True)).values("count")
    return competitions.annotate(entrants_now=Coalesce(Subquery(count), 0))


def _problems(boards: QuerySet[Board]) -> list[dict[str, Any]]:
    """Return the problems of these boards with their hardware, sorted by title: 2.9 before 2.17."""
    found: dict[tuple[str, str, bool], list[str]] = defaultdict(list)
    columns = ("slug", "problem__title", "version__bundle__unsupported", "hardware")
    for slug, title, unsupported, hardware in boards.values_list(*columns):
        found[slug, title, not unsupported].append(hardware)

    return [
        {"slug": slug, "title": title, "hardware": sorted(found[slug, title, judged]), "is_judged": judged}
        for slug, title, judged in sorted(found, key=lambda key: (by_number(key[1]), key[0]))
    ]


def _track(track: Track) -> dict[str, Any]:
    some = "" if set(track.divisions) == set(DIVISIONS) else " and ".join(sorted(track.divisions))
    return {
        "track": track,
        "divisions": f"Only for the division{pluralize(track.divisions)} {some}." if some else "",
        "ties": TIE_RULES[track.tie_rule],
        "prizes": sorted(track.prizes.all(), key=lambda prize: prize.place),
    }


def track_said(track: Track) -> str:
    """Return the standing or board that decides a track, in words."""
    params = track.params
    board = f"{params.get('slug')} on {params.get('hardware')}"
    match track.kind:
        case Track.HARDWARE:
            return f"the standing over all boards on {params.get('hardware')}"
        case Track.BOARD:
            return f"the board {board}"
        case Track.TAG:
            return f"the standing over the boards tagged {params.get('tag')}"
        case Track.FIRST_TO_BEAT:
            return f"the first kernel {significant(1 / params['ratio'], 3)}× as fast as the baseline of {board}"
    return "the standing over all boards"


def prize_said(prize: Prize) -> str:
    """Return a prize in words, as in "EUR 1,000 and a GPU"."""
    paid = money(prize.amount, prize.currency) if prize.amount is not None else ""
    return " and ".join(part for part in (paid, prize.text) if part) or "–"
