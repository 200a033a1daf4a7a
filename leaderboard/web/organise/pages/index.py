"""An organiser's competitions, a new competition, a clone, and an overview with the phase and pending work."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard.competitions.calendar import phase_at
from leaderboard.competitions.checks import TIMES
from leaderboard.competitions.edit import clone_competition, create_competition, edit_competition
from leaderboard.competitions.models import PUBLIC, Competition, Role
from leaderboard.competitions.permissions import competitions_of
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise import history, waiting
from leaderboard.web.organise.epochs import EXPLAINED, waiting_decisions
from leaderboard.web.organise.forms import CloneForm, NewForm
from leaderboard.web.organise.pages.gate import PHASES, managed, shell, tell

HISTORY_ROWS: Final = 8
HISTORY_FIELDS: Final = 3
STEPS: Final = (
    ("practice_at", "Practice begins"),
    ("contest_at", "Contest begins"),
    ("merge_deadline", "Teams are fixed"),
    ("freeze_at", "Standing freezes"),
    ("deadline", "Deadline"),
    ("revealed_at", "Revealed"),
    ("final_at", "Final"),
)


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    user, now = user_of(request), timezone.now()
    found = list(competitions_of(user).annotate(board_count=Count("boards")))
    if not found and not user.is_staff:
        raise Http404
    roles = dict(Role.objects.filter(user=user).values_list("competition_id", "role"))
    rows = [_row(one, roles.get(one.pk, "administrator"), now) for one in found]
    context = {"rows": rows, "may_create": user.is_staff, "decisions": waiting_decisions(user), "explained": EXPLAINED}
    return render(request, "web/organise/index.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if not user.is_staff:
        raise Http404
    form = NewForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        names = set(form.cleaned_data) - {"slug", "reason"}
        try:
            made = create_competition(
                actor=user, slug=form.cleaned_data["slug"], settings=form.settings(names), now=timezone.now()
            )
        except UserError as error:
            tell(form, error)
        else:
            messages.success(request, "Created. Now add its boards.")
            return redirect(f"/organise/{made.slug}/boards")
    form.describe()
    status = 400 if form.errors else 200
    return render(request, "web/organise/create.html", {"form": form}, status=status)


@login_required
@require_http_methods(["GET", "POST"])
def clone(request: HttpRequest, slug: str) -> HttpResponse:
    source = managed(request, slug)
    form = CloneForm(request.POST if request.method == "POST" else None, initial={"name": source.name})
    if request.method == "POST" and form.is_valid():
        told = form.cleaned_data
        try:
            made = clone_competition(
                source=source,
                actor=user_of(request),
                slug=told["slug"],
                name=told["name"],
                shift=form.shift,
                now=timezone.now(),
            )
        except UserError as error:
            tell(form, error, dict.fromkeys(TIMES, "weeks"))
        else:
            messages.success(request, "Cloned. It is closed: look it over, then open it in its settings.")
            return redirect(f"/organise/{made.slug}")
    return shell(request, source, "clone", {"form": form}, status=400 if form.errors else 200)


@login_required
@require_safe
def overview(request: HttpRequest, slug: str) -> HttpResponse:
    competition, now = managed(request, slug), timezone.now()
    context = {
        "steps": [step for step in _steps(competition, now) if step["at"]],
        "waiting": waiting.of(competition, now),
        "history": history.of(competition, most=HISTORY_ROWS, fields=HISTORY_FIELDS),
        "counts": waiting.counts(competition),
    }
    return shell(request, competition, "overview", context)


@login_required
@require_POST
def publish(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a closed competition public."""
    competition = managed(request, slug)
    try:
        edit_competition(
            competition=competition, actor=user_of(request), settings={"visibility": PUBLIC}, now=timezone.now()
        )
    except UserError as error:
        messages.warning(request, f"Not published: {error.message}.")
    else:
        messages.success(request, "Published. Everybody finds it now.")
    return redirect(f"/organise/{slug}")


@login_required
@require_safe
def changes(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    return shell(request, competition, "history", {"history": history.of(competition, most=history.MOST)})


def _row(competition: Any, role: str, now: Any) -> dict[str, Any]:
    phase, tone = PHASES[phase_at(competition.schedule, now)]
    return {
        "competition": competition,
        "role": role,
        "phase": {"text": phase, "tone": tone},
        "boards": competition.board_count,
    }


def _steps(competition: Competition, now: Any) -> list[dict[str, Any]]:
    steps = []
    for name, text in STEPS:
        at = getattr(competition, name)
        steps.append({"text": text, "at": at, "past": at is not None and at <= now})
    return steps
