"""The user's entrant in a competition: people, invites and profile. Each act has its own address and plain form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from datetime import datetime
from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard.accounts.models import User
from leaderboard.competitions.models import AGENT, HUMAN, MIXED, Competition
from leaderboard.competitions.permissions import competitions_seen_by
from leaderboard.entrants import profile, teams
from leaderboard.entrants.enter import enter_in_division
from leaderboard.entrants.models import Entrant
from leaderboard.errors import RateLimited, UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.limits import check_team_acts
from leaderboard.web.submissions import view
from leaderboard.web.submissions.my_entrant import entrant_of
from leaderboard.web.submissions.my_entrant import mine as mine_in

SHOWN_SUBMISSIONS: Final = 20
DIVISIONS: Final = {
    HUMAN: {"title": "Human", "about": "People write the code; a model may complete lines, no more."},
    AGENT: {"title": "Agent", "about": "A model writes the code by itself; say which one."},
    MIXED: {"title": "Mixed", "about": "People and a model write it together; say which one."},
}


@login_required
@require_safe
def mine(request: HttpRequest, slug: str) -> HttpResponse:
    return _page(request, _competition(request, slug))


@login_required
@require_POST
def act(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    competition = _competition(request, slug)
    if name not in ACTS:
        raise Http404
    try:
        check_team_acts(user_of(request).account_id, name)
        said = ACTS[name](request.POST, competition, user_of(request), timezone.now())
    except UserError as error:
        return _page(request, competition, failed=name, error=error)
    messages.success(request, said)
    return redirect(f"/competitions/{slug}/team")


def _enter(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    told = {name: sent.get(name, "") for name in ("division", "model_name")}
    enter_in_division(user=user, competition=competition, now=now, **told)
    return f"You compete in {competition.name}."


def _create(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    told = {name: sent.get(name, "") for name in ("name", "division", "model_name")}
    team = teams.create_team(user=user, competition=competition, now=now, **told)
    return f"{team.name} is there, and you are its captain."


def _rename(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    teams.rename_team(entrant=entrant_of(user, competition), actor=user, name=sent.get("name", ""), now=now)
    return "The team has another name."


def _invite(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    username = sent.get("username", "")
    made = teams.invite(entrant=entrant_of(user, competition), username=username, actor=user, now=now)
    return f"{made.user.get_username()} finds the invite on their home page."


def _withdraw(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    entrant = entrant_of(user, competition)
    teams.withdraw_invite(invite_id=_key(sent, "invite"), entrant=entrant, actor=user, now=now)
    return "The invite is withdrawn."


def _accept(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    member = teams.accept_invite(invite_id=_key(sent, "invite"), user=user, now=now)
    return f"You are in {member.entrant.name} now."


def _decline(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    teams.decline_invite(invite_id=_key(sent, "invite"), user=user, now=now)
    return "The invite is declined."


def _leave(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    teams.leave(user=user, competition=competition, now=now)
    return "You have left. What you sent stays where it was sent for."


def _remove(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    entrant, username = entrant_of(user, competition), sent.get("username", "")
    teams.remove_member(entrant=entrant, username=username, actor=user, now=now)
    return f"{username} is not in the team any more."


def _hand_over(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    entrant, username = entrant_of(user, competition), sent.get("username", "")
    teams.hand_over(entrant=entrant, username=username, actor=user, now=now)
    return f"{username} is captain now."


def _division(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    told = {name: sent.get(name, "") for name in ("division", "model_name")}
    profile.choose_division(entrant=entrant_of(user, competition), actor=user, now=now, **told)
    return "The division is kept."


def _affiliation(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    said = sent.get("affiliation", "")
    profile.say_affiliation(entrant=entrant_of(user, competition), actor=user, affiliation=said, now=now)
    return "The affiliation is kept."


def _pseudonym(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    wanted = sent.get("pseudonym", "")
    profile.take_pseudonym(entrant=entrant_of(user, competition), actor=user, pseudonym=wanted, now=now)
    return "Boards show the pseudonym from now on."


def _reveal(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    profile.reveal(entrant=entrant_of(user, competition), actor=user, now=now)
    return "Boards show your name again."


def _declare(sent: QueryDict, competition: Competition, user: User, now: datetime) -> str:
    entrant, tracks = entrant_of(user, competition), sent.getlist("declared")
    profile.declare(entrant=entrant, actor=user, tracks=tracks, now=now)
    return "What you declared is kept."


ACTS: Final[dict[str, Callable[[QueryDict, Competition, User, datetime], str]]] = {
    "enter": _enter,
    "create": _create,
    "rename": _rename,
    "invite": _invite,
    "withdraw": _withdraw,
    "accept": _accept,
    "decline": _decline,
    "leave": _leave,
    "remove": _remove,
    "hand-over": _hand_over,
    "division": _division,
    "affiliation": _affiliation,
    "pseudonym": _pseudonym,
    "reveal": _reveal,
    "declare": _declare,
}


def _competition(request: HttpRequest, slug: str) -> Competition:
    return get_object_or_404(competitions_seen_by(request.user), slug=slug)


def _key(sent: QueryDict, name: str) -> int:
    text = sent.get(name, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _page(
    request: HttpRequest, competition: Competition, *, failed: str = "", error: UserError | None = None
) -> HttpResponse:
    user = user_of(request)
    found = mine_in(user, competition, timezone.now())
    context = {
        **{field.name: getattr(found, field.name) for field in fields(found)},
        "entrant": found.entrant,
        "is_captain": found.is_captain,
        "is_full": found.is_full,
        "divisions": [{"value": value, **DIVISIONS[value]} for value in DIVISIONS if value in competition.divisions],
        "subs": _sent_for(user, found.entrant),
        "failed": failed,
        "error": error.message[:1].upper() + error.message[1:] + "." if error else "",
        "sent": request.POST if error else {},
    }
    response = render(request, "web/team.html", context, status=error.status if error else 200)
    if isinstance(error, RateLimited):
        response["Retry-After"] = str(error.retry_after_s)
    return response


def _sent_for(user: User, entrant: Entrant | None) -> list[view.Shown]:
    """Return the team's submissions, sent by any member; empty for an entrant that is no team."""
    if entrant is None or not entrant.is_team:
        return []
    return view.shown_list(view.visible_to(user).filter(entrant=entrant)[:SHOWN_SUBMISSIONS])
