"""A competition's confirmations with their results. Undecided confirmations are asked for again, or closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard.competitions.models import Role
from leaderboard.confirmations.models import Confirmation, Found
from leaderboard.errors import UserError
from leaderboard.review.case.settle import ask_again, close_confirmation
from leaderboard.review.permissions import has_conflict
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.confirmations import MOST, rows_of
from leaderboard.web.organise.pages.gate import managed, shell

ACTS: Final[dict[str, tuple[Callable[..., Confirmation], str]]] = {
    "ask": (ask_again, "Asked for again: a runner makes five more runs on fresh seeds."),
    "close": (close_confirmation, "Closed: nobody waits for it any more."),
}


@login_required
@require_safe
def index(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    rows = rows_of(competition, user_of(request))
    context = {"rows": rows, "open": [row for row in rows if row.waits], "most": MOST}
    return shell(request, competition, "confirmations", context)


@login_required
@require_POST
def act(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponse:
    competition = managed(request, slug, to_change=Role.REVIEWER)
    if name not in ACTS:
        raise Http404
    asked = get_object_or_404(Confirmation, pk=pk, board__competition=competition)
    do, done = ACTS[name]
    try:
        do(asked=asked, actor=user_of(request), reason=request.POST.get("reason", ""), now=timezone.now())
        messages.success(request, done)
    except UserError as error:
        messages.warning(request, f"Not done: {error.message}.")
    return redirect(f"/organise/{slug}/confirmations")


@login_required
@require_safe
def report(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """The report as the runner sent it. Refused with 404 to owners of the code that it covers."""
    competition = managed(request, slug)
    found = get_object_or_404(Found, confirmation=pk, confirmation__board__competition=competition)
    asked = found.confirmation
    if any(has_conflict(user_of(request), one) for one in (asked.candidate, asked.incumbent)):
        raise Http404
    headers = {"Content-Disposition": f'attachment; filename="{asked.attempt_id}.json"'}
    return JsonResponse(found.report, headers=headers)
