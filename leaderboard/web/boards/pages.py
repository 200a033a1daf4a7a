"""Home, the list of boards, a problem's page, its files, a board, and the standing over a competition's boards.

A collection has its standings by `fast_p`, and a page for each entrant's answers to its problems.
"""

import re
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.accounts.models import User
from leaderboard.admissions.compiled import newest_timings
from leaderboard.admissions.door import accepts_half, newest_verdicts, refusals, seen_hardware, starter_outcomes
from leaderboard.admissions.models import CompiledTiming
from leaderboard.competitions.access import news_for
from leaderboard.competitions.calendar import Stage
from leaderboard.competitions.models import DIVISIONS, Board, Role
from leaderboard.competitions.permissions import boards_seen_by, competitions_seen_by, has_role
from leaderboard.desk.undo import renamed
from leaderboard.entrants.teams import open_invites_of
from leaderboard.judging.live import languages
from leaderboard.standings.ranking.overall import SHOWN, relative, score, standings
from leaderboard.standings.read.boards import Collection, lines_of
from leaderboard.standings.read.boards import collection as read_collection
from leaderboard.web.boards import cards, standing
from leaderboard.web.boards import home as home_page
from leaderboard.web.boards.curves import plot
from leaderboard.web.boards.listing import BoardsForm, listing
from leaderboard.web.submissions import starter_code
from leaderboard.web.submissions.meanings import HOW_RANKED, MEANINGS, RANKINGS, SCORING_NAMES, SCORINGS_EXPLAINED
from problems.spec import COMPILED

PREVIEW_ROWS: Final = 5
UNFOLDED_ROWS: Final = 25  # of a long ranking's first page
CALL_LIMIT_S: Final = 10  # the judge's, for one call; the site may not import it, a test compares the two
FIRST_CALL_LIMIT_S: Final = 60  # likewise, for the first call of a case
EAGER: Final = "eager"
COMPILE: Final = "compile"
MOST_LINES: Final = 200  # of a collection


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    context = {
        "home": home_page.home(request.user, now),
        "news": news_for(request.user, now),
        "invites": open_invites_of(request.user) if isinstance(request.user, User) else (),
    }
    return render(request, "web/home.html", context)


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """The list of boards; filters are parameters of the address."""
    form = BoardsForm(request.GET)
    found = listing(form, request.user, timezone.now())
    status = 200 if form.is_valid() else 400
    return render(request, "web/boards.html", {"form": form, "listing": found}, status=status)


@require_safe
def problem(request: HttpRequest, slug: str) -> HttpResponse:
    card = cards.card(slug, request.user, timezone.now())
    text, verdicts = starter_code.problem_of(card.version, card.slug), newest_verdicts(card.versions.values())
    own = standing.own_entrant(request.user, card.competition)
    tables = [(place, place.look.current) for place in card.places]
    ranked = [(place.hardware, lines_of(table, table.places[:PREVIEW_ROWS])) for place, table in tables]
    context = {
        "card": card,
        "problem": text,
        "ranking_by": RANKINGS[text.ranking_by],
        "how_ranked": HOW_RANKED,
        "call_limit_s": CALL_LIMIT_S,
        "first_call_limit_s": FIRST_CALL_LIMIT_S,
        "tabs": starter_code.tabs(text, card.versions, starter_outcomes(verdicts)),
        "tests": starter_code.case_names(text.tests),
        "ranges": starter_code.secret_ranges(text),
        "languages": languages(card.hardware),
        "timed": starter_code.timed_names(card.versions),
        "news": news_for(request.user, timezone.now(), card.competition),
        **refused_and_unseen(card.places),
        "accepts_half": accepts_half(verdicts),
        "previews": [{"hardware": hardware, "rows": standing.rows(lines, own)} for hardware, lines in ranked],
    }
    return render(request, "web/problem.html", context)


@require_safe
def file(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """Download of starter code or of a file of the problem."""
    card = cards.card(slug, request.user, timezone.now())
    tabs = starter_code.tabs(starter_code.problem_of(card.version, card.slug), card.versions, {})
    text = {tab.filename: tab.text for tab in tabs}.get(name)
    if text is None:
        raise Http404
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(text, content_type="text/plain; charset=utf-8", headers=headers)


@require_safe
def board(request: HttpRequest, slug: str, hardware: str) -> HttpResponse:
    card = cards.card(slug, request.user, timezone.now())
    place = card.place(hardware)
    sees_more = has_role(request.user, card.competition, Role.VIEWER)
    standing.group_of_page(request, card.competition)
    asked = asked_for(request, in_full=sees_more and "public" not in request.GET)
    shown = standing.show(place.board, asked, request.user, timezone.now(), known=place.look)
    context = {
        "card": card,
        "hardware": hardware,
        "compiled": compiled_timing(card, place.board),
        "is_live": card.is_open and asked.stage is None and asked.epoch is None,
        "digest": place.look.of(shown.group).current.digest,
        "shown": shown,
        "fold": UNFOLDED_ROWS if asked.start == 0 and len(shown.rows) > UNFOLDED_ROWS else 0,
        "sees_more": sees_more,
        "news": news_for(request.user, timezone.now(), card.competition),
        **refused_and_unseen([place]),
        "meanings": MEANINGS,
        "ranking_by": RANKINGS[card.version.part("ranking_by", "geom")],
        "how_ranked": HOW_RANKED,
    }
    return render(request, "web/board.html", context)


def compiled_timing(card: cards.Card, board: Board) -> CompiledTiming | None:
    """Return the finished timing of torch.compile that a board's page shows: with a figure, or with the reason."""
    if COMPILED not in (card.version.part("templates") or {}):
        return None
    return newest_timings([board], now=timezone.now(), finished=True).get(board.pk)


def refused_and_unseen(places: Sequence[cards.Place]) -> dict[str, Any]:
    """Return why boards take no submissions, by hardware, and the hardware of open boards that never had a runner."""
    seen = seen_hardware()
    why = refusals((place.board for place in places), seen=seen)
    refused = {place.hardware: why[place.board.pk] for place in places if why[place.board.pk]}
    return {
        "refused": refused,
        "unseen": [place.hardware for place in places if place.hardware not in {*seen, *refused}],
    }


@require_safe
def overall(request: HttpRequest, slug: str) -> HttpResponse:
    """The standing over a competition's boards."""
    asked = asked_for(request, in_full="public" not in request.GET)
    standing.group_of_page(request, get_object_or_404(competitions_seen_by(request.user), slug=slug))
    shown = standing.show_overall(slug, asked, request.user, timezone.now())
    context = {
        "shown": shown,
        "scorings": SCORING_NAMES,
        "said": SCORING_NAMES[shown.standing.scoring],
        "explained": SCORINGS_EXPLAINED[shown.standing.scoring],
        "is_owner": has_role(request.user, shown.competition, Role.OWNER),
    }
    return render(request, "web/standings.html", context)


def asked_for(request: HttpRequest, *, in_full: bool) -> standing.Asked:
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
        group=given.get("group", ""),
        division=division,
        hardware=given.get("hardware", ""),
        scoring=given.get("scoring", ""),
        in_full=in_full,
        start=int(start),
    )


@require_safe
def collection(request: HttpRequest, slug: str) -> HttpResponse:
    found, context = _chosen_collection(request, slug)
    compiled = found.compiled()
    answers = found.answers()
    if context["baseline"] == COMPILE:
        answers = {name: relative(own, compiled) for name, own in answers.items()}
    lines = standings(answers, found.levels)
    context |= {
        "lines": lines[:MOST_LINES],
        "entrants": len(lines),
        "plot": plot(lines),
        "levels": sorted(set(found.levels.values())),
        "compiled": len(compiled),
        "compiled_score": score(compiled.values(), len(found.members)) if compiled else None,
    }
    return render(request, "web/collection.html", context)


@require_safe
def entrant(request: HttpRequest, slug: str, username: str) -> HttpResponse:
    found, context = _chosen_collection(request, slug)
    answers = found.answers()
    own = answers.get(username)
    if own is None:
        present = next((name for name in renamed(username, slug) if name in answers), None)
        if present is None:
            raise Http404
        return redirect(f"/collections/{slug}/{quote(present, safe='')}?{request.GET.urlencode()}".rstrip("?"))
    shown = relative(own, found.compiled()) if context["baseline"] == COMPILE else own
    [line] = standings({username: shown}, found.levels)
    levels = []
    for level, result in line.levels:
        cells = [
            {
                "member": member,
                "answer": own.get(member.slug),
                "shown": shown.get(member.slug),  # against the chosen baseline
                "wins": [member.slug in shown and shown[member.slug].wins(p) for p in SHOWN],
            }
            for member in found.members
            if member.level == level
        ]
        levels.append((level, result, cells))
    context |= {"entrant": username, "line": line, "plot": plot([line]), "levels": levels}
    return render(request, "web/entrant.html", context)


def _chosen_collection(request: HttpRequest, slug: str) -> tuple[Collection, dict[str, Any]]:
    """Return the collection on the requested hardware, and the context that its pages share.

    Raises Http404.
    """
    group, hardware = request.GET.get("group", ""), request.GET.get("hardware", "")
    found = read_collection(slug, boards_seen_by(request.user), hardware, now=timezone.now(), group=group)
    baseline = request.GET.get("baseline", EAGER)
    if found is None or baseline not in (EAGER, COMPILE):
        raise Http404
    return found, {
        "collection": found,
        "group": standing.group_of_page(request, found.competition),
        "groups": standing.shown_groups(found.competition),
        "hardware": found.hardware,
        "places": found.places,
        "baseline": baseline,
        "baselines": ((EAGER, "eager"), (COMPILE, "torch.compile")),
        "ps": [f"{p:g}" for p in SHOWN],
    }
