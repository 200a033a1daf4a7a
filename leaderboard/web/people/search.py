"""Search over people, problems and competitions, as far as lists show them to the viewer.

A person or entrant is found by the name that boards show, and only with a line that the public sees. The name behind a
pseudonym finds nothing.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe
from rest_framework.request import Request

from leaderboard.accounts.models import User
from leaderboard.competitions.models import Board, Problem
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_seen_by
from leaderboard.competitions.words import MOST_CHARS, begin_words, named, words_of
from leaderboard.entrants.models import Entrant
from leaderboard.errors import RateLimited, UserError
from leaderboard.standings.read.people import NAMED, entrants_with_lines
from leaderboard.standings.read.table import shown_lines
from leaderboard.web import limits
from leaderboard.web.templatetags.people import entrant_url

MOST: Final = 20  # results of a kind
CANDIDATES: Final = 300  # entrants that are looked at
LEAST_CHARS: Final = 2


@dataclass(frozen=True)
class Hit:
    title: str
    about: str
    url: str


@dataclass(frozen=True)
class Found:
    people: list[Hit]
    problems: list[Hit]
    competitions: list[Hit]

    @property
    def is_empty(self) -> bool:
        return not (self.people or self.problems or self.competitions)


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    text = request.GET.get("q", "")[:MOST_CHARS].replace("\x00", "").strip()
    found, wait_s, is_short = None, None, False
    try:
        found = found_for(request, text) if text else None
    except RateLimited as error:
        wait_s = error.retry_after_s
    except UserError:
        is_short = True
    context = {"q": text, "found": found, "wait_s": wait_s, "is_short": is_short}
    return render(request, "web/search.html", context, status=429 if wait_s else 200)


def found_for(request: HttpRequest | Request, text: str) -> Found:
    """Search once, counted. Raises UserError for a text that is too short, RateLimited."""
    words = words_of(text)
    if len("".join(words)) < LEAST_CHARS:
        raise UserError("q", text, f"expected at least {LEAST_CHARS} letters or digits")
    if isinstance(request.user, User):
        wait_s = limits.floods.take((limits.SEARCH_USER, str(request.user.account_id)))
    else:
        wait_s = limits.floods.take(*limits.by_address(limits.SEARCH_IP, request))
    if wait_s is not None:
        raise RateLimited("q", text, f"too many searches; wait {wait_s} s", retry_after_s=wait_s)
    return find(words, request.user, timezone.now())


def find(words: list[str], viewer: Viewer, now: datetime) -> Found:
    """Return what these words find. Ten queries at most, each over a bounded number of rows."""
    boards = list(boards_seen_by(viewer, listed=True).select_related("competition", "problem").order_by("slug", "pk"))
    return Found(find_people(words, boards, now), find_problems(words, boards), find_competitions(words, viewer))


def find_people(words: list[str], boards: list[Board], now: datetime) -> list[Hit]:
    here = {board.competition_id for board in boards}
    candidates: dict[int, Entrant] = {}
    for field, may_show in (("name", NAMED), ("pseudonym", ~Q(pseudonym=""))):
        rows = named(Entrant.objects.all(), words, field)
        rows = rows.filter(may_show, competition__in=here).select_related("competition")
        candidates |= {row.pk: row for row in rows.order_by()[:CANDIDATES]}
    seen = entrants_with_lines(candidates.values(), shown_lines(boards, now)) if candidates else set()
    hits: dict[str, Hit] = {}
    shown = [entrant for entrant in candidates.values() if entrant.pk in seen]
    for entrant in sorted(shown, key=lambda one: (len(one.shown_name), one.shown_name.casefold(), one.pk)):
        url = entrant_url(entrant, entrant.competition)
        is_person = url.startswith("/people/")
        about = "" if is_person else f"{'team' if entrant.is_team else 'entrant'} in {entrant.competition}"
        hits.setdefault(url, Hit(entrant.name if is_person else entrant.shown_name, about, url))
    return list(hits.values())[:MOST]


def find_problems(words: list[str], boards: list[Board]) -> list[Hit]:
    listed = {board.problem_id for board in boards}
    rows = named(Problem.objects.filter(pk__in=listed), words, "title", "slug")
    found = set(rows.order_by().values_list("pk", flat=True))
    hits: dict[str, Hit] = {}
    for board in boards:
        if board.problem_id in found or begin_words(words, board.tags):
            hits.setdefault(board.slug, Hit(board.title, board.competition.name, f"/boards/{board.slug}"))
    return list(hits.values())[:MOST]


def find_competitions(words: list[str], viewer: Viewer) -> list[Hit]:
    listed = competitions_seen_by(viewer, listed=True)
    rows = named(listed, words, "name", "slug")
    return [Hit(one.name, "", f"/competitions/{one.slug}") for one in rows.order_by("name", "pk")[:MOST]]
