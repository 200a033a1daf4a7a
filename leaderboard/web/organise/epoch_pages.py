"""Decisions on timing epochs: a proposed epoch becomes current or is dismissed; a contest's pin is moved."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from leaderboard.errors import UserError
from leaderboard.judging.epochs import choose_epoch, dismiss_epoch, move_pin
from leaderboard.judging.models import Epoch
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.pages.gate import managed


@login_required
@require_POST
def decide(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """Make a proposed epoch current, or dismiss it.

    Epochs belong to hardware that competitions share, so administrators of the site decide.
    """
    user = user_of(request)
    act = {"choose": choose_epoch, "dismiss": dismiss_epoch}.get(name)
    if not user.is_staff or act is None:
        raise Http404
    epoch = get_object_or_404(Epoch, pk=pk)
    told = {"actor": user, "reason": request.POST.get("reason", ""), "now": timezone.now()}
    try:
        act(hardware=epoch.hardware, name=epoch.name, **told)  # type: ignore[arg-type]
    except UserError as error:
        messages.error(request, f"{error.field.capitalize()}: {error.message}.")
    else:
        done = "The epoch is current now." if name == "choose" else "The epoch is dismissed."
        messages.success(request, f"{epoch.hardware}: {done}")
    return redirect("/runners" if request.POST.get("from") == "runners" else "/organise")


@login_required
@require_POST
def pin(request: HttpRequest, slug: str) -> HttpResponse:
    """Move a competition's contest to another epoch. Owners only."""
    competition = managed(request, slug)
    hardware = request.POST.get("hardware", "")
    try:
        move_pin(
            competition=competition,
            hardware=hardware,
            name=request.POST.get("epoch", ""),
            actor=user_of(request),
            reason=request.POST.get("reason", ""),
            now=timezone.now(),
        )
    except UserError as error:
        messages.error(request, f"{error.field.capitalize()}: {error.message}.")
    else:
        messages.success(request, f"The contest ranks this timing epoch on {hardware} now.")
    return redirect(f"/organise/{slug}/state")
