"""The standing over a competition's boards, and the acts on it: freeze, unfreeze, reveal, finalise, reopen."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard.competitions.calendar import Phase, Stage, is_frozen_at, phase_at
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.roles import has_role
from leaderboard.competitions.visible import competitions_seen_by
from leaderboard.errors import UserError
from leaderboard.standings import freeze
from leaderboard.web import overall
from leaderboard.web.forms import FinaliseForm, ReasonForm
from leaderboard.web.pages.account import user_of

ACTS: Final[dict[str, Callable[..., bool]]] = {
    freeze.FREEZE: freeze.freeze,
    freeze.UNFREEZE: freeze.unfreeze,
    freeze.REVEAL: freeze.reveal,
    freeze.FINALISE: freeze.finalise,
    freeze.REOPEN: freeze.reopen,
}
DONE: Final = {
    freeze.FREEZE: "The standing is frozen.",
    freeze.UNFREEZE: "The standing is not frozen any more.",
    freeze.REVEAL: "The whole standing is shown.",
    freeze.FINALISE: "The standing is final.",
    freeze.REOPEN: "The competition is in review again.",
}


@require_safe
def page(request: HttpRequest, slug: str) -> HttpResponse:
    return _page(request, slug)


@login_required
@require_POST
def act(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    competition = competitions_seen_by(request.user).filter(slug=slug).first()
    if competition is None or name not in ACTS or not has_role(request.user, competition, Role.VIEWER):
        raise Http404
    form = FinaliseForm(request.POST) if name == freeze.FINALISE else ReasonForm(request.POST)
    if not form.is_valid():
        return _page(request, slug, form, status=400)
    told = form.cleaned_data
    try:
        ACTS[name](competition=competition, actor=user_of(request), now=timezone.now(), **told)
    except UserError as error:
        form.add_error(error.field if error.field in form.fields else None, f"{error.message}.")
        return _page(request, slug, form, status=error.status)
    messages.success(request, DONE[name])
    return redirect(f"/competitions/{slug}/standings")


def _page(request: HttpRequest, slug: str, form: ReasonForm | None = None, status: int = 200) -> HttpResponse:
    given = request.GET
    stage, start = given.get("stage"), given.get("from", "0")
    if stage not in (None, *Stage) or not re.fullmatch(r"[0-9]{1,6}", start):
        raise Http404
    shown = overall.show(
        slug,
        request.user,
        timezone.now(),
        hardware=given.get("hardware", ""),
        scoring=given.get("scoring", ""),
        stage=Stage(stage) if stage else None,
        wants_full="public" not in given,
        start=int(start),
    )
    if shown is None:
        raise Http404
    context = {
        "shown": shown,
        "scorings": overall.SAID,
        "said": overall.SAID[shown.standing.scoring],
        "explained": overall.EXPLAINED[shown.standing.scoring],
        **_acts(request, shown.competition, form),
    }
    return render(request, "web/standings.html", context, status=status)


def _acts(request: HttpRequest, competition: Competition, form: ReasonForm | None) -> dict[str, Any]:
    """What an owner can do with it now."""
    if not has_role(request.user, competition, Role.OWNER):
        return {}
    now = timezone.now()
    phase, frozen = phase_at(competition.schedule, now), is_frozen_at(competition.schedule, now)
    possible = {
        freeze.FREEZE: phase is Phase.CONTEST,
        freeze.UNFREEZE: phase is Phase.FROZEN,
        freeze.REVEAL: frozen and (competition.deadline is None or competition.deadline <= now),
        freeze.FINALISE: freeze.can_be_final(competition, now),
        freeze.REOPEN: phase in (Phase.FINAL, Phase.OPEN),
    }
    acts = [name for name, is_possible in possible.items() if is_possible]
    form = form or FinaliseForm()
    form.describe()
    waiting = freeze.waiting(competition, now) if freeze.FINALISE in acts else None
    return {"acts": acts, "act_form": form, "waiting": waiting}
