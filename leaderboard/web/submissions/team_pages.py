"""The user's entrant in a competition: people, invites and profile. Each act has its own address and plain form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard.competitions.models import AGENT, HUMAN, MIXED, Competition
from leaderboard.competitions.permissions import competitions_seen_by
from leaderboard.entrants import profile, teams
from leaderboard.entrants.enter import enter_in_division
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import sentence
from leaderboard.web.limits import check_team_acts
from leaderboard.web.middleware import with_wait
from leaderboard.web.submissions import view
from leaderboard.web.submissions.mine import entrant_of
from leaderboard.web.submissions.mine import mine as mine_in

SHOWN_SUBMISSIONS: Final = 20
DIVISIONS: Final = {
    HUMAN: {"title": "Human", "about": "People write the code. A model may complete single lines."},
    AGENT: {"title": "Agent", "about": "A model writes the code by itself. Name the model below."},
    MIXED: {"title": "Mixed", "about": "People and a model write the code together. Name the model below."},
}


@dataclass(frozen=True)
class Act:
    """`done`: message with the act's result `made`, the sent fields and the competition. `fields`: sent, by name."""

    call: Callable[..., Any]
    done: str
    fields: tuple[str, ...] = ()
    of: str = "entrant"  # the object that the act changes: "entrant", "competition" or "invite"


DIVISION: Final = ("division", "model_name")
USERNAME: Final = ("username",)
ACTS: Final = {
    "enter": Act(enter_in_division, "You compete in {competition.name}.", DIVISION, of="competition"),
    "create": Act(
        teams.create_team, "You made the team {made.name} and are its captain.", ("name", *DIVISION), of="competition"
    ),
    "rename": Act(teams.rename_team, "The team has a new name.", ("name",)),
    "invite": Act(teams.invite, "{made.user.username} will see the invite on their home page.", USERNAME),
    "withdraw": Act(teams.withdraw_invite, "The invite is withdrawn.", ("invite_id",)),
    "accept": Act(teams.accept_invite, "You are in {made.entrant.name} now.", ("invite_id",), of="invite"),
    "decline": Act(teams.decline_invite, "The invite is declined.", ("invite_id",), of="invite"),
    "leave": Act(teams.leave, "You have left. Your earlier submissions stay where they are.", of="competition"),
    "remove": Act(teams.remove_member, "{username} is no longer in the team.", USERNAME),
    "hand-over": Act(teams.hand_over, "{username} is captain now.", USERNAME),
    "division": Act(profile.choose_division, "The division is saved.", DIVISION),
    "affiliation": Act(profile.say_affiliation, "The affiliation is saved.", ("affiliation",)),
    "pseudonym": Act(profile.take_pseudonym, "Boards show the pseudonym from now on.", ("pseudonym",)),
    "reveal": Act(profile.reveal, "Boards show your name again."),
    "declare": Act(profile.declare, "Your declaration is saved.", ("tracks",)),
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
        who: dict[str, Any] = {"user": user}
        if wanted.of == "competition":
            who["competition"] = competition
        elif wanted.of == "entrant":
            who = {"entrant": entrant_of(user, competition), "actor": user}
        made = wanted.call(**who, **given, now=timezone.now())
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
