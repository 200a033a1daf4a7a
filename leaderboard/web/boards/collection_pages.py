"""A collection's standings by `fast_p`, and one entrant's answers to its problems."""

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.competitions.permissions import boards_seen_by
from leaderboard.standings.ranking.fast_p import SHOWN, relative, score, standings
from leaderboard.standings.read.competition import Collection, collection
from leaderboard.web.boards.curves import plot

EAGER: Final = "eager"
COMPILE: Final = "compile"
MOST_LINES: Final = 200


@require_safe
def index(request: HttpRequest, slug: str) -> HttpResponse:
    found, context = _chosen(request, slug)
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
    found, context = _chosen(request, slug)
    own = found.answers().get(username)
    if own is None:
        raise Http404
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


def _chosen(request: HttpRequest, slug: str) -> tuple[Collection, dict[str, Any]]:
    """Return the collection on the requested hardware, and the context that its pages share.

    Raises Http404.
    """
    found = collection(slug, boards_seen_by(request.user), request.GET.get("hardware", ""), now=timezone.now())
    baseline = request.GET.get("baseline", EAGER)
    if found is None or baseline not in (EAGER, COMPILE):
        raise Http404
    return found, {
        "collection": found,
        "hardware": found.hardware,
        "places": found.places,
        "baseline": baseline,
        "baselines": ((EAGER, "eager"), (COMPILE, "torch.compile")),
        "ps": [f"{p:g}" for p in SHOWN],
    }
