"""Home, the list of boards, a problem's page, its files, a board."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.accounts.models import User
from leaderboard.admissions.door import accepts_half, newest_verdicts, refusals, seen_hardware, starter_outcomes
from leaderboard.competitions.announce import news_for
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import DIVISIONS
from leaderboard.entrants.teams import open_invites_of
from leaderboard.standings.read.boards import lines_of
from leaderboard.web.boards import cards, standing
from leaderboard.web.boards.rows import own_entrant, rows
from leaderboard.web.submissions import starter_code
from leaderboard.web.submissions.meanings import MEANINGS

PREVIEW_ROWS: Final = 5
PAGE_ROWS: Final = 100
CALL_LIMIT_S: Final = 10  # the judge's, for one call; the site may not import it, a test compares the two
FIRST_CALL_LIMIT_S: Final = 60  # likewise, for the first call of a case


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    context = {
        "groups": cards.groups(request.user, now),
        "news": news_for(request.user, now),
        "invites": open_invites_of(request.user) if isinstance(request.user, User) else (),
    }
    return render(request, "web/home.html", context)


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "web/boards.html", {"groups": cards.groups(request.user, timezone.now())})


@require_safe
def problem(request: HttpRequest, slug: str) -> HttpResponse:
    card = _card(request, slug)
    text, verdicts = starter_code.problem_of(card.version), newest_verdicts(card.versions.values())
    refused, unseen = refused_and_unseen(card.places)
    context = {
        "card": card,
        "problem": text,
        "ranking_by": cards.RANKINGS[text.ranking_by],
        "how_ranked": cards.HOW_RANKED,
        "call_limit_s": CALL_LIMIT_S,
        "first_call_limit_s": FIRST_CALL_LIMIT_S,
        "tabs": starter_code.tabs(text, card.versions, starter_outcomes(verdicts)),
        "tests": starter_code.case_names(text.tests),
        "timed": starter_code.timed_names(card.versions),
        "news": news_for(request.user, timezone.now(), card.competition),
        "refused": refused,
        "unseen": unseen,
        "accepts_half": accepts_half(verdicts),
        "previews": [_preview(place, own_entrant(request.user, card.competition)) for place in card.places],
    }
    return render(request, "web/problem.html", context)


@require_safe
def file(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Download of starter code or of a file of the problem."""
    card = _card(request, slug)
    text = starter_code.downloads(starter_code.problem_of(card.version), card.versions).get(name)
    if text is None:
        raise Http404
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers)


@require_safe
def board(request: HttpRequest, slug: str, hardware: str) -> HttpResponse:
    card = _card(request, slug)
    place = card.place(hardware)
    if place is None:
        raise Http404
    sees_more = standing.may_see_in_full(request.user, place.board)
    asked = _asked(request, in_full=sees_more and "public" not in request.GET)
    shown = standing.show(place.board, asked, request.user, timezone.now(), known=place.look)
    if shown is None:
        raise Http404
    refused, unseen = refused_and_unseen([place])
    context = {
        "card": card,
        "hardware": hardware,
        "shown": shown,
        "sees_more": sees_more,
        "news": news_for(request.user, timezone.now(), card.competition),
        "refused": refused,
        "unseen": unseen,
        "divisions": DIVISIONS,
        "meanings": MEANINGS,
        "ranking_by": cards.RANKINGS[card.version.part("ranking_by", "geom")],
        "how_ranked": cards.HOW_RANKED,
    }
    return render(request, "web/board.html", context)


def refused_and_unseen(places: Sequence[cards.Place]) -> tuple[dict[str, str], list[str]]:
    """Return why boards take no submissions, by hardware, and the hardware of open boards that never had a runner."""
    seen = seen_hardware()
    why = refusals((place.board for place in places), seen=seen)
    refused = {place.hardware: why[place.board.pk] for place in places if why[place.board.pk]}
    return refused, [place.hardware for place in places if place.hardware not in seen and place.hardware not in refused]


def _asked(request: HttpRequest, *, in_full: bool) -> standing.Asked:
    """Return the requested part of a standing.

    Raises Http404 for values that no link of the site contains.
    """
    given = request.GET
    stage, division, start = given.get("stage"), given.get("division", ""), given.get("from", "0")
    if stage not in (None, *Stage) or division not in ("", *DIVISIONS) or not re.fullmatch(r"[0-9]{1,6}", start):
        raise Http404
    return standing.Asked(
        stage=Stage(stage) if stage else None,
        epoch=given.get("epoch"),
        division=division,
        in_full=in_full,
        start=int(start),
        most=PAGE_ROWS,
    )


def _preview(place: cards.Place, own: int | None) -> dict[str, object]:
    table = place.look.current
    ranked = lines_of(table, table.places[:PREVIEW_ROWS])
    return {"hardware": place.hardware, "rows": rows(ranked, own)}


def _card(request: HttpRequest, slug: str) -> cards.Card:
    card = cards.card(slug, request.user, timezone.now())
    if card is None:
        raise Http404
    return card
