"""Award pages: tracks, prizes and winners of a competition, the owners' desk for awarding them, and exports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard.awards import life
from leaderboard.awards.models import Award
from leaderboard.competitions.models import Competition, Role, Track
from leaderboard.competitions.permissions import competitions_seen_by, has_role
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise import awards

Act = Callable[..., str]


@require_safe
def index(request: HttpRequest, slug: str) -> HttpResponse:
    competition, now = _seen(request, slug), timezone.now()
    as_owner = has_role(request.user, competition, Role.OWNER)
    shown = awards.shown(competition, request.user, now=now, as_owner=as_owner)
    context = {
        "competition": competition,
        "shown": shown,
        "is_owner": as_owner,
        "has_winners": any(one.winners for one in shown),
    }
    return render(request, "web/awards.html", context)


@require_safe
def as_csv(request: HttpRequest, slug: str) -> HttpResponse:
    competition = _seen(request, slug)
    headers = {"Content-Disposition": f'attachment; filename="{competition.slug}-awards.csv"'}
    return HttpResponse(
        awards.as_csv(competition, request.user), content_type="text/csv; charset=utf-8", headers=headers
    )


@require_safe
def as_json(request: HttpRequest, slug: str) -> HttpResponse:
    competition = _seen(request, slug)
    return JsonResponse({"competition": competition.slug, "winners": awards.rows(competition, request.user)})


@login_required
@require_POST
def propose(request: HttpRequest, slug: str, track: str) -> HttpResponse:
    found = get_object_or_404(
        Track.objects.select_related("competition"), competition=_owned(request, slug), slug=track
    )
    return _act(request, slug, lambda **who: _proposed(life.propose_award(track=found, **who)))


@login_required
@require_POST
def act(request: HttpRequest, slug: str, pk: int, name: str) -> HttpResponse:
    competition = _owned(request, slug)
    award = get_object_or_404(Award.objects.select_related("track"), pk=pk, track__competition=competition)
    if name not in ACTS:
        raise Http404
    reason = request.POST.get("reason", "")
    return _act(request, slug, lambda **who: ACTS[name](award=award, reason=reason, **who))


def _act(request: HttpRequest, slug: str, called: Callable[..., str]) -> HttpResponse:
    """Run an act, and show its result or error on the awards page."""
    try:
        messages.success(request, called(actor=user_of(request), now=timezone.now()))
    except UserError as error:
        messages.error(request, error.message)
    return redirect(f"/competitions/{slug}/awards")


def _proposed(award: Award) -> str:
    return f"{award.track}: proposed. Read the reasons below, then confirm it."


def _confirm(*, award: Award, reason: str, **who: Any) -> str:
    waiting = life.confirm_award(award=award, without=reason, **who)
    if waiting:
        return f"{award.track}: runners were asked for {waiting} confirmation{'' if waiting == 1 else 's'}."
    return f"{award.track}: confirmed."


def _approve(*, award: Award, reason: str, **who: Any) -> str:
    life.approve_award(award=award, reason=reason, **who)
    return f"{award.track}: approved. Nobody else sees it before you announce it."


def _announce(*, award: Award, reason: str, **who: Any) -> str:
    life.announce_award(award=award, **who)
    return f"{award.track}: announced."


def _withdraw(*, award: Award, reason: str, **who: Any) -> str:
    life.withdraw_award(award=award, reason=reason, **who)
    return f"{award.track}: withdrawn."


ACTS: Final[dict[str, Act]] = {
    "confirm": _confirm,
    "approve": _approve,
    "announce": _announce,
    "withdraw": _withdraw,
}


def _seen(request: HttpRequest, slug: str) -> Competition:
    return get_object_or_404(competitions_seen_by(request.user), slug=slug)


def _owned(request: HttpRequest, slug: str) -> Competition:
    competition = _seen(request, slug)
    if not has_role(request.user, competition, Role.OWNER):
        raise Http404
    return competition
