"""Judging machines, for organisers: machines at work and out of service, with reasons; drain, rotate, revoke."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from leaderboard.accounts.models import User
from leaderboard.errors import UserError
from leaderboard.judging import runners
from leaderboard.judging.models import Attempt, Epoch, Runner
from leaderboard.judging.runners import set_draining
from leaderboard.judging.work import RUNNING
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.epochs import EXPLAINED, title_of, waiting_decisions

SHOW_ONCE: Final = "new_runner_token"  # session key; lives from the act to the page after it


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    _staff(request)
    held = dict(Attempt.objects.filter(state__in=RUNNING).values_list("runner_id", "submission_id"))
    epochs = {(epoch.hardware, epoch.name): epoch for epoch in Epoch.objects.all()}
    rows = []
    for runner in Runner.objects.order_by("name"):
        epoch = epochs.get((runner.hardware, runner.epoch))
        title = title_of(epoch.fingerprint if epoch and epoch.fingerprint else runner.fingerprint)
        rows.append({"runner": runner, "submission": held.get(runner.pk), "epoch": epoch, "title": title})
    decisions = waiting_decisions(user_of(request))
    shown = {"rows": rows, "decisions": decisions, "explained": EXPLAINED, "now": timezone.now()}
    return render(request, "web/runners.html", shown | request.session.pop(SHOW_ONCE, {}))


@login_required
@require_POST
def act(request: HttpRequest, name: str, act: str) -> HttpResponse:
    actor = _staff(request)
    runner = get_object_or_404(Runner, name=name)
    if act not in ACTS:
        raise Http404
    try:
        ACTS[act](request, runner, actor, timezone.now())
    except UserError as error:
        messages.error(request, str(error))
    return redirect("/runners")


def _drain(request: HttpRequest, runner: Runner, actor: User, now: datetime) -> None:
    set_draining(runner=runner, on=True, actor=actor, now=now)
    messages.success(request, f"Runner {runner.name} finishes what it judges and claims nothing more.")


def _resume(request: HttpRequest, runner: Runner, actor: User, now: datetime) -> None:
    set_draining(runner=runner, on=False, actor=actor, now=now)
    messages.success(request, f"Runner {runner.name} claims work again.")


def _rotate(request: HttpRequest, runner: Runner, actor: User, now: datetime) -> None:
    secret = runners.rotate(runner=runner, actor=actor, reason=request.POST.get("reason", ""), now=now)
    request.session[SHOW_ONCE] = {"secret": secret, "secret_name": runner.name}  # until the next page has shown it


def _revoke(request: HttpRequest, runner: Runner, actor: User, now: datetime) -> None:
    runners.revoke(runner=runner, actor=actor, reason=request.POST.get("reason", ""), now=now)
    messages.success(request, f"Runner {runner.name} is revoked. The work that it held is queued again.")


ACTS: Final[dict[str, Callable[[HttpRequest, Runner, User, datetime], None]]] = {
    "drain": _drain,
    "resume": _resume,
    "rotate": _rotate,
    "revoke": _revoke,
}


def _staff(request: HttpRequest) -> User:
    user = user_of(request)
    if not user.is_staff:
        raise Http404
    return user
