"""Profile of a person, and page of an entrant of a competition: boards, firsts, activity, teams, latest lines.

A profile exists for strangers once it shows a line. Until then it answers like an absent page: strangers learn of no
account from it, and of no person behind a pseudonym.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Q
from django.db.models.functions import Lower
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.accounts.models import User
from leaderboard.awards.models import ANNOUNCED, Award
from leaderboard.competitions.models import BoardQuerySet
from leaderboard.competitions.permissions import (
    Viewer,
    announcements_seen_by,
    boards_seen_by,
    competitions_of,
    competitions_seen_by,
)
from leaderboard.entrants.models import Entrant
from leaderboard.entrants.permissions import memberships_of
from leaderboard.standings.models import Entry
from leaderboard.standings.read.people import (
    NAMED,
    BoardResult,
    Results,
    Week,
    members_shown,
    named_entrants,
    results_of,
)
from leaderboard.web.paging import page_at
from leaderboard.web.templatetags.people import board_url, entrant_url

PAGE_ROWS: Final = 20
SHOWN_BOARDS: Final = 100
MOST_BADGES: Final = 24
NEWEST: Final = ("-submitted_at", "-submission_id")
BAR_STEP: Final = 8  # width of a week in the plot of activity
BAR_HEIGHT: Final = 40
NAMED_ENTRANT: Final = Q(entrant__pseudonym="") | Q(entrant__revealed_at__isnull=False)


@dataclass(frozen=True)
class Badge:
    tone: str  # class of its chip
    text: str
    url: str


@dataclass(frozen=True)
class Bar:
    x: int
    y: float
    height: float
    title: str


def bars(weeks: Sequence[Week]) -> list[Bar]:
    most = max((week.lines for week in weeks), default=0) or 1
    found = []
    for number, week in enumerate(weeks):
        height = round(max(2.0, BAR_HEIGHT * week.lines / most), 1) if week.lines else 1.0
        title = f"Week of {week.since:%-d %b %Y}: {week.lines}"
        found.append(Bar(number * BAR_STEP, BAR_HEIGHT - height, height, title))
    return found


def badges(results: Results, entrants: Sequence[Entrant], viewer: Viewer) -> list[Badge]:
    """Return badges of announced awards, first places, and first lines of a board."""
    found = [
        Badge("good", f"Winner: {award.track.name}, {award.track.competition.name}", awards_url(award))
        for award in awards_of(entrants, viewer)
    ]
    led = {result.board.pk for result in results.leading}
    found += [
        Badge("good", f"First place: {result.board.title} on {result.board.hardware}", board_url(result.board))
        for result in results.leading
    ]
    for board in sorted(results.firsts, key=lambda board: board.pk in led):
        found.append(Badge("", f"First across the line: {board.title} on {board.hardware}", board_url(board)))
    return found


def awards_url(award: Award) -> str:
    return f"/competitions/{award.track.competition.slug}/awards"


def awards_of(entrants: Sequence[Entrant], viewer: Viewer) -> list[Award]:
    """Return the announced awards with a first place for these entrants, as far as the viewer sees them."""
    keys, here = {entrant.pk for entrant in entrants}, {entrant.competition_id for entrant in entrants}
    shown = announcements_seen_by(viewer).filter(competition__in=here)
    announced = Award.objects.filter(state=ANNOUNCED, announcement__in=shown).select_related("track__competition")
    return [award for award in announced if any(one["entrant"] in keys and one["place"] == 1 for one in award.winners)]


@dataclass(frozen=True)
class Profile:
    name: str
    entrants: Sequence[Entrant]
    results: Results
    badges: Sequence[Badge]
    is_own: bool

    @property
    def boards(self) -> Sequence[BoardResult]:
        return self.results.boards[:SHOWN_BOARDS]

    @property
    def teams(self) -> list[tuple[Entrant, str]]:
        return [(team, entrant_url(team, team.competition)) for team in self.entrants if team.is_team]


def profile_of(username: str, viewer: Viewer) -> Profile:
    """Return a person's profile, for any case of letters. Raises Http404 unless this viewer may see it."""
    named = User.objects.alias(low=Lower("username")).filter(low=username.lower())  # by its index
    found = get_object_or_404(named, is_active=True)
    boards = boards_seen_by(viewer, listed=True)
    is_own = isinstance(viewer, User) and viewer.account_id == found.account_id
    return _profile(found.username, named_entrants(found, boards), boards, viewer, is_own)


def profile_of_entrant(slug: str, name: str, viewer: Viewer) -> Profile:
    """Return an entrant's profile: of a team, a pseudonym, or a person of a competition that lists do not show.

    Raises Http404 unless this viewer may see it.
    """
    competition = get_object_or_404(competitions_seen_by(viewer), slug=slug)
    named = Q(name=name) & NAMED | Q(pseudonym=name) & ~Q(pseudonym="")
    found = get_object_or_404(Entrant.objects.filter(named, competition=competition).select_related("competition"))
    boards = boards_seen_by(viewer).filter(competition=competition)
    is_own = isinstance(viewer, User) and memberships_of(viewer).filter(entrant=found).exists()
    return _profile(found.shown_name, [found], boards, viewer, is_own)


def _profile(name: str, entrants: Sequence[Entrant], boards: BoardQuerySet, viewer: Viewer, is_own: bool) -> Profile:
    results = results_of(entrants, boards, now=timezone.now())
    if not is_own and not results.lines.exists() and not organises(viewer, entrants):
        raise Http404
    return Profile(name, entrants, results, badges(results, entrants, viewer), is_own)


@require_safe
def person(request: HttpRequest, username: str) -> HttpResponse:
    viewer = request.user
    profile = profile_of(username, viewer)
    if profile.name != username:
        return redirect(f"/people/{profile.name}")
    name = f"lines of person {profile.name}"
    page = page_at(request, profile.results.lines, order=NEWEST, name=name, size=PAGE_ROWS)
    context = _context(profile) | {
        "page": page,
        "agent_of": User.objects.filter(agents__username=profile.name).first(),
        "teams": profile.teams,
        "hidden": hidden_entrants(viewer) if profile.is_own and isinstance(viewer, User) else [],
    }
    return render(request, "web/person.html", context)


@require_safe
def entrant(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    profile = profile_of_entrant(slug, name, request.user)
    (found,) = profile.entrants
    address = entrant_url(found, found.competition)
    if address.startswith("/people/"):
        return redirect(address)
    page = page_at(request, profile.results.lines, order=NEWEST, name=f"lines of entrant {found.pk}", size=PAGE_ROWS)
    context = _context(profile) | {
        "entrant": found,
        "competition": found.competition,
        "members": members_shown(found),
        "page": page,
    }
    return render(request, "web/person.html", context)


def _context(profile: Profile) -> dict[str, object]:
    return {
        "name": profile.name,
        "is_own": profile.is_own,
        "results": profile.results,
        "boards": profile.boards,
        "badges": profile.badges[:MOST_BADGES],
        "more_badges": max(0, len(profile.badges) - MOST_BADGES),
        "bars": bars(profile.results.weeks),
    }


def organises(viewer: Viewer, entrants: Sequence[Entrant]) -> bool:
    """Return whether the viewer may know more of these entrants: they have a line, perhaps not shown yet."""
    mine = competitions_of(viewer).filter(pk__in=[entrant.competition_id for entrant in entrants])
    return Entry.objects.filter(entrant__in=entrants, board__competition__in=mine).exists()


def hidden_entrants(viewer: User) -> list[Entrant]:
    """Return the viewer's own entrants that a profile leaves out."""
    return [member.entrant for member in memberships_of(viewer).exclude(NAMED_ENTRANT)]
