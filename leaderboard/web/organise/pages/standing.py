"""Freeze, reveal and declare final: the currently possible acts on a competition's standing as a whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard.competitions.calendar import Phase, is_frozen_at, phase_at
from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError
from leaderboard.standings import freeze
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import ReasonForm
from leaderboard.web.organise.pages.gate import managed, shell, tell


@dataclass(frozen=True)
class Offer:
    """An act, its effect, and the message after it."""

    name: str
    title: str
    about: str
    done: str
    act: Callable[..., bool]


OFFERS: Final = (
    Offer(
        freeze.FREEZE,
        "Freeze",
        "From now on the public standing stands still. What is sent counts, and is shown at the reveal.",
        "The public standing stands still.",
        freeze.freeze,
    ),
    Offer(
        freeze.UNFREEZE,
        "Unfreeze",
        "As if it had never been frozen: everything is shown at once.",
        "The public standing moves again.",
        freeze.unfreeze,
    ),
    Offer(
        freeze.REVEAL,
        "Reveal",
        "What was sent while frozen is shown, everywhere at once. This cannot be taken back.",
        "Revealed: everybody sees the whole standing.",
        freeze.reveal,
    ),
    Offer(
        freeze.FINALISE,
        "Declare it final",
        "Review is over and the standing stands. What is still frozen is revealed with it.",
        "The standing is final.",
        freeze.finalise,
    ),
    Offer(
        freeze.REOPEN,
        "Back to review",
        "Takes “final” back. What was revealed stays revealed.",
        "It is in review again.",
        freeze.reopen,
    ),
)


@login_required
@require_safe
def index(request: HttpRequest, slug: str) -> HttpResponse:
    return _page(request, managed(request, slug))


@login_required
@require_POST
def act(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    competition = managed(request, slug)
    offer = next((one for one in OFFERS if one.name == name), None)
    if offer is None:
        raise Http404
    form = ReasonForm(request.POST, auto_id=f"{name}_%s")
    if form.is_valid():
        told = {"anyway": bool(request.POST.get("anyway"))} if offer.name == freeze.FINALISE else {}
        try:
            is_done = offer.act(
                competition=competition,
                actor=user_of(request),
                reason=form.cleaned_data["reason"],
                now=timezone.now(),
                **told,
            )
        except UserError as error:
            tell(form, error, {"anyway": "reason", "competition": "reason"})
        else:
            messages.success(request, offer.done if is_done else "It was so already.")
            return redirect(f"/organise/{slug}/standing")
    return _page(request, competition, {name: form})


def possible(competition: Competition, now: datetime) -> set[str]:
    """Return the names of the acts that are possible now. The acts check again."""
    phase, is_frozen = phase_at(competition.schedule, now), is_frozen_at(competition.schedule, now)
    found = {freeze.FREEZE} if phase is Phase.CONTEST else set()
    if is_frozen:
        found.add(freeze.UNFREEZE if phase is Phase.FROZEN else freeze.REVEAL)
    if freeze.can_be_final(competition, now):
        found.add(freeze.FINALISE)
    return found | ({freeze.REOPEN} if competition.final_at is not None else set())


def _page(request: HttpRequest, competition: Competition, wrong: dict[str, ReasonForm] | None = None) -> HttpResponse:
    """Render the page. `wrong`: the form of an act that was not done, with its input."""
    now = timezone.now()
    can = possible(competition, now)
    offers = []
    for offer in OFFERS:
        if offer.name in can or offer.name in (wrong or {}):
            form = (wrong or {}).get(offer.name) or ReasonForm(auto_id=f"{offer.name}_%s")
            offers.append({"offer": offer, "form": form})
    context = {
        "offers": offers,
        "waits": freeze.waiting(competition, now),
        "is_frozen": is_frozen_at(competition.schedule, now),
        "finalise": freeze.FINALISE,
    }
    return shell(request, competition, "standing", context, status=400 if wrong else 200)
