"""Freeze, reveal and declare final: the currently possible acts on a competition's standings as a whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone

from leaderboard.competitions.calendar import Phase, is_frozen_at, phase_at
from leaderboard.competitions.models import Competition
from leaderboard.standings import freeze
from leaderboard.web.forms import ReasonForm
from leaderboard.web.organise.gate import competition_page, send, shell


class Offer(NamedTuple):
    """An act, its effect, and the message after it."""

    title: str
    about: str
    done: str
    act: Callable[..., bool]  # False: nothing was to be done


OFFERS: Final = {
    freeze.FREEZE: Offer(
        "Freeze",
        "The public standings stop changing now. Later submissions count, and are shown when you reveal them.",
        "The public standings are frozen.",
        freeze.freeze,
    ),
    freeze.UNFREEZE: Offer(
        "Unfreeze",
        "All submissions are shown at once, as if the standings had never been frozen.",
        "The public standings are no longer frozen.",
        freeze.unfreeze,
    ),
    freeze.REVEAL: Offer(
        "Reveal",
        "Submissions from the freeze are shown everywhere at once. This cannot be undone.",
        "Revealed: everybody can see the complete standings.",
        freeze.reveal,
    ),
    freeze.FINALISE: Offer(
        "Declare final",
        "Review is over and the standings no longer change. Submissions that are still frozen are revealed.",
        "The standings are final.",
        freeze.finalise,
    ),
    freeze.REOPEN: Offer(
        "Back to review",
        "The standings are no longer final. Revealed submissions stay revealed.",
        "The competition is in review again.",
        freeze.reopen,
    ),
}


@competition_page("GET", "HEAD")
def index(request: HttpRequest, competition: Competition) -> HttpResponse:
    return _page(request, competition, {})


@competition_page("POST")
def act(request: HttpRequest, competition: Competition, name: str) -> HttpResponse:
    offer = OFFERS.get(name)
    if offer is None:
        raise Http404
    form = ReasonForm(request.POST, auto_id=f"{name}_%s")
    do = partial(offer.act, competition=competition)
    if name == freeze.FINALISE:
        do = partial(do, anyway=bool(request.POST.get("anyway")))
    names = {"anyway": "reason", "competition": "reason"}

    def described(**arguments: object) -> str:
        return offer.done if do(**arguments) else "Nothing to do: it was done before."

    to = f"/organise/{competition.slug}/standing"
    return send(request, form, described, to=to, done="{result}", names=names) or _page(
        request, competition, {name: form}, status=400
    )


def possible(competition: Competition, now: datetime) -> set[str]:
    """Return the names of the acts that are possible now. The acts check again."""
    phase, is_frozen = phase_at(competition.schedule, now), is_frozen_at(competition.schedule, now)
    found = {freeze.FREEZE} if phase is Phase.CONTEST else set()
    if is_frozen:
        found.add(freeze.UNFREEZE if phase is Phase.FROZEN else freeze.REVEAL)
    if freeze.can_be_final(competition, now):
        found.add(freeze.FINALISE)
    return found | ({freeze.REOPEN} if competition.final_at is not None else set())


def _page(
    request: HttpRequest, competition: Competition, refused: dict[str, ReasonForm], status: int = 200
) -> HttpResponse:
    """Render the page. `refused`: the form of an act that was not done, with its input."""
    now = timezone.now()
    shown = possible(competition, now) | set(refused)
    context = {
        "offers": [
            {"name": name, "offer": offer, "form": refused.get(name) or ReasonForm(auto_id=f"{name}_%s")}
            for name, offer in OFFERS.items()
            if name in shown
        ],
        "waits": freeze.waiting(competition, now),
        "is_frozen": is_frozen_at(competition.schedule, now),
        "finalise": freeze.FINALISE,
    }
    return shell(request, competition, "standing", context, status)
