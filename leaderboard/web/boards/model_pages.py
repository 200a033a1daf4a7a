"""The model board of a competition's problems, and the kernels behind a number of it."""

from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_seen_by
from leaderboard.entrants.models import Entrant
from leaderboard.standings.ranking.overall import SHOWN
from leaderboard.standings.read.boards import Collection, problem_set
from leaderboard.standings.read.model_board import ModelLine, model_lines
from leaderboard.web.boards.pages import COMPILE, EAGER, MOST_LINES

PS: Final = {f"{p:g}": p for p in SHOWN}


def set_seen(viewer: Viewer, slug: str, hardware: str) -> Collection:
    """Return the problems of a competition on this hardware, or on its first. Raises Http404."""
    get_object_or_404(competitions_seen_by(viewer), slug=slug)
    found = problem_set(slug, boards_seen_by(viewer), hardware, now=timezone.now())
    if found is None:
        raise Http404
    return found


@require_safe
def index(request: HttpRequest, slug: str) -> HttpResponse:
    found = set_seen(request.user, slug, request.GET.get("hardware", ""))
    lines = model_lines(found)
    context = {"lines": [(line, _columns(line)) for line in lines[:MOST_LINES]], "total": len(lines)}
    return render(request, "web/model_board.html", context | _shared(found))


@require_safe
def detail(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    """The kernels of a model that a number of the model board counts."""
    found = set_seen(request.user, slug, request.GET.get("hardware", ""))
    baseline, p = request.GET.get("baseline", EAGER), PS.get(request.GET.get("p", "0"))
    line = next((line for line in model_lines(found) if line.model == name), None)
    if line is None or p is None or baseline not in (EAGER, COMPILE):
        raise Http404
    answers = line.eager_answers if baseline == EAGER else line.compiled_answers
    counted = [member for member in found.members if member.slug in answers and answers[member.slug].wins(p)]
    who = Entrant.objects.in_bulk({line.best[member.slug].entrant_id for member in counted})
    rows = [
        {
            "member": member,
            "entry": line.best[member.slug].submissions[0],
            "entrant": who[line.best[member.slug].entrant_id],
            "runs": len(line.best[member.slug].submissions),
            "answer": answers[member.slug],
        }
        for member in counted
    ]
    context = {
        "line": line,
        "rows": rows,
        "baseline": baseline,
        "p": request.GET.get("p", "0"),
        "ps": list(PS),
        "baselines": [(EAGER, "the baseline")] + ([(COMPILE, "torch.compile")] if line.compiled else []),
    }
    return render(request, "web/model_kernels.html", context | _shared(found))


def _columns(line: ModelLine) -> list[dict[str, Any]]:
    """Return the numbers of a line that lead to their kernels."""
    sides = ((EAGER, line.eager), (COMPILE, line.against_compiled))
    return [
        {"baseline": side, "p": p, "share": share}
        for side, shares in sides
        for p, share in zip(PS, shares, strict=False)  # none against torch.compile without its times
    ]


def _shared(found: Collection) -> dict[str, Any]:
    compiled = len(found.compiled())
    return {"collection": found, "hardware": found.hardware, "places": found.places, "compiled": compiled}
