"""The model board of a competition's problems, the kernels behind a number of it, and the sampling lesson."""

from dataclasses import dataclass
from typing import Any, Final

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.accounts.models import User
from leaderboard.competitions.permissions import Viewer, boards_seen_by, competitions_seen_by
from leaderboard.entrants.models import Entrant
from leaderboard.standings.ranking.overall import MOST_P, SHOWN
from leaderboard.standings.read.boards import Collection, problem_set
from leaderboard.standings.read.model_board import ModelLine, model_lines
from leaderboard.web.boards import sampling
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


@dataclass(frozen=True)
class Asked:
    """The choices of a viewer of the sampling lesson."""

    model: str = ""  # "": the model with the most
    p: float = 0.0
    by: str = "samples"
    mine: bool = False


def board_seen(viewer: Viewer, slug: str, hardware: str) -> Collection:
    """Return the problem set that is a single board. Raises Http404."""
    board = get_object_or_404(boards_seen_by(viewer).select_related("competition"), slug=slug, hardware=hardware)
    return sampling.only(set_seen(viewer, board.competition.slug, hardware), slug)


def lesson_for(viewer: Viewer, found: Collection, asked: Asked) -> tuple[dict[str, int], str, sampling.Lesson | None]:
    """Return the models to choose from, the chosen model, and its lesson. Raises Http404 for an unknown model."""
    own = viewer if asked.mine and isinstance(viewer, User) else None
    models = sampling.models_of(found, own)
    if asked.model and asked.model not in models:
        raise Http404
    model = asked.model or next(iter(models), "")
    return models, model, sampling.lesson(found, model, p=asked.p, by=asked.by, own=own) if model else None


@require_safe
def board_sampling(request: HttpRequest, slug: str, hardware: str) -> HttpResponse:
    """More samples against serial feedback, on a board."""
    found = board_seen(request.user, slug, hardware)
    return _sampling(request, found, {"title": found.members[0].title if found.members else slug, "slug": slug})


@require_safe
def set_sampling(request: HttpRequest, slug: str) -> HttpResponse:
    """More samples against serial feedback, over a competition's problems."""
    found = set_seen(request.user, slug, request.GET.get("hardware", ""))
    return _sampling(request, found, {"title": found.competition.name})


def _sampling(request: HttpRequest, found: Collection, context: dict[str, Any]) -> HttpResponse:
    given = request.GET
    try:
        p = float(given.get("p", "0"))
    except ValueError:
        raise Http404 from None
    asked = Asked(given.get("model", ""), p, given.get("by", "samples"), given.get("of", "") == "mine")
    if not 0 <= p <= MOST_P or asked.by not in sampling.BUDGETS:
        raise Http404
    if not asked.mine and asked.by != "samples":
        raise Http404  # spending belongs to the sender
    models, model, lesson = lesson_for(request.user, found, asked)
    context |= {
        "models": models,
        "model": model,
        "lesson": lesson if lesson and (lesson.rows or lesson.knobs) else None,
        "asked": asked,
        "mine": asked.mine and request.user.is_authenticated,
        "budgets": sampling.BUDGETS,
        "unit": sampling.BUDGETS[asked.by],
    }
    return render(request, "web/sampling.html", context | _shared(found))


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
