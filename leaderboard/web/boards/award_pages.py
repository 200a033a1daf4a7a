"""Award pages: tracks, prizes and winners of a competition, the owners' desk for awarding them, and exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.defaultfilters import pluralize
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard.awards import life
from leaderboard.awards.models import Award
from leaderboard.competitions.models import Role, Track
from leaderboard.competitions.permissions import competitions_seen_by, has_role
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise import awards

DONE: Final = {
    "confirm": "confirmed",
    "approve": "approved. Only organisers see it until you announce it",
    "announce": "announced",
    "withdraw": "withdrawn",
}


@require_safe
def index(request: HttpRequest, slug: str) -> HttpResponse:
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    is_owner = has_role(request.user, competition, Role.OWNER)
    shown = awards.shown(competition, request.user, now=timezone.now(), as_owner=is_owner)
    context = {
        "competition": competition,
        "shown": shown,
        "is_owner": is_owner,
        "has_winners": any(one["winners"] for one in shown),
    }
    return render(request, "web/awards.html", context)


@require_safe
def as_csv(request: HttpRequest, slug: str) -> HttpResponse:
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    headers = {"Content-Disposition": f'attachment; filename="{competition.slug}-awards.csv"'}
    text = awards.as_csv(competition, request.user)
    return HttpResponse(text, content_type="text/csv; charset=utf-8", headers=headers)


@require_safe
def as_json(request: HttpRequest, slug: str) -> HttpResponse:
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    return JsonResponse({"competition": competition.slug, "winners": awards.rows(competition, request.user)})


@login_required
@require_POST
def propose(request: HttpRequest, slug: str, track: str) -> HttpResponse:
    found = get_object_or_404(_owned_tracks(request, slug).select_related("competition"), slug=track)

    def call(**actor: Any) -> str:
        life.propose_award(track=found, **actor)
        return "proposed. Read the reasons below, then confirm it"

    return _act(request, found, call)


@login_required
@require_POST
def act(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponse:
    tracks = _owned_tracks(request, slug)
    award = get_object_or_404(Award.objects.select_related("track"), pk=pk, track__in=tracks)
    if name not in DONE:
        raise Http404
    reason = request.POST.get("reason", "")

    def call(**actor: Any) -> str:
        waiting = 0
        match name:
            case "confirm":
                waiting = life.confirm_award(award=award, without=reason, **actor)
            case "approve":
                life.approve_award(award=award, reason=reason, **actor)
            case "announce":
                life.announce_award(award=award, **actor)
            case "withdraw":
                life.withdraw_award(award=award, reason=reason, **actor)
        return f"runners were asked for {waiting} confirmation{pluralize(waiting)}" if waiting else DONE[name]

    return _act(request, award.track, call)


def _act(request: HttpRequest, track: Track, call: Callable[..., str]) -> HttpResponse:
    """Run an act on the award of a track, and show its result or error on the awards page."""
    try:
        done = call(actor=user_of(request), now=timezone.now())
        messages.success(request, f"{track}: {done}.")
    except UserError as error:
        messages.error(request, error.message)
    return redirect(f"/competitions/{track.competition.slug}/awards")


def _owned_tracks(request: HttpRequest, slug: str) -> QuerySet[Track]:
    """Return the tracks of a competition of this owner. Raises Http404 for everybody else."""
    competition = get_object_or_404(competitions_seen_by(request.user), slug=slug)
    if not has_role(request.user, competition, Role.OWNER):
        raise Http404
    return Track.objects.filter(competition=competition)
