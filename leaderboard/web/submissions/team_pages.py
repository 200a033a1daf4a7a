"""The user's entrant in a competition: people, invites and profile. Each act has its own address and plain form."""

from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard.competitions.models import AGENT, HUMAN, MIXED, Competition
from leaderboard.competitions.permissions import competitions_seen_by
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import sentence
from leaderboard.web.limits import check_team_acts
from leaderboard.web.middleware import with_wait
from leaderboard.web.submissions import view
from leaderboard.web.submissions.mine import ACTS, perform
from leaderboard.web.submissions.mine import mine as mine_in

SHOWN_SUBMISSIONS: Final = 20
DIVISIONS: Final = {
    HUMAN: {"title": "Human", "about": "People write the code. A model may complete single lines."},
    AGENT: {"title": "Agent", "about": "A model writes the code by itself. Name the model below."},
    MIXED: {"title": "Mixed", "about": "People and a model write the code together. Name the model below."},
}


@login_required
@require_safe
def mine(request: HttpRequest, slug: str) -> HttpResponse:
    return _page(request, get_object_or_404(competitions_seen_by(request.user), slug=slug))


@login_required
@require_POST
def act(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    if name not in ACTS:
        raise Http404
    user, wanted = user_of(request), ACTS[name]
    given: dict[str, Any] = {field: request.POST.get(field, "") for field in wanted.fields}
    if "invite_id" in given:
        text = request.POST.get("invite", "")
        given["invite_id"] = int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0
    if "tracks" in given:
        given["tracks"] = request.POST.getlist("declared")
    try:
        check_team_acts(user.account_id, name)
        made = perform(wanted, user, competition, given, timezone.now())
    except UserError as error:
        return with_wait(_page(request, competition, failed=name, error=error), error)
    messages.success(request, wanted.done.format(made=made, competition=competition, **given))
    return redirect(f"/competitions/{slug}/team")


def _page(
    request: HttpRequest, competition: Competition, *, failed: str = "", error: UserError | None = None
) -> HttpResponse:
    user = user_of(request)
    found = mine_in(user, competition, timezone.now())
    entrant = found["entrant"]
    of_team = view.visible_to(user).filter(entrant=entrant) if entrant and entrant.is_team else None
    context = found | {
        "divisions": [{"value": value, **DIVISIONS[value]} for value in DIVISIONS if value in competition.divisions],
        "subs": view.shown_list(of_team[:SHOWN_SUBMISSIONS]) if of_team is not None else [],
        "failed": failed,
        "error": sentence(error.message) if error else "",
        "sent": request.POST if error else {},
    }
    return render(request, "web/team.html", context, status=error.status if error else 200)
