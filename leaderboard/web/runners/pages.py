"""Judging machines, for organisers: machines at work and out of service, with reasons; drain, rotate, revoke."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from leaderboard.errors import UserError
from leaderboard.judging import live, runners
from leaderboard.judging.models import Epoch, Runner
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.gate import restricted_page
from leaderboard.web.organise.state_pages import EXPLAINED, title_of, waiting_decisions

SHOW_ONCE: Final = "new_runner_token"  # session key; lives from the act to the page after it


@restricted_page("GET", "HEAD")
def index(request: HttpRequest) -> HttpResponse:
    found, now = list(Runner.objects.order_by("name")), timezone.now()
    hosts = {host.name: host for host in live.hosts({runner.hardware for runner in found}, now=now)}
    epochs = {(epoch.hardware, epoch.name): epoch for epoch in Epoch.objects.all()}
    rows = []
    for runner in found:
        epoch = epochs.get((runner.hardware, runner.epoch))
        title = title_of(epoch.fingerprint if epoch and epoch.fingerprint else runner.fingerprint)
        rows.append({"runner": runner, "host": hosts[runner.name], "epoch": epoch, "title": title})
    decisions = waiting_decisions(user_of(request))
    shown = {"rows": rows, "decisions": decisions, "explained": EXPLAINED, "now": now}
    return render(request, "web/runners.html", shown | request.session.pop(SHOW_ONCE, {}))


@restricted_page("POST")
def act(request: HttpRequest, name: str, act: str) -> HttpResponse:
    by: dict[str, Any] = {
        "runner": get_object_or_404(Runner, name=name),
        "actor": user_of(request),
        "now": timezone.now(),
    }
    reason = request.POST.get("reason", "")
    try:
        match act:
            case "drain":
                runners.set_draining(on=True, **by)
                messages.success(request, f"Runner {name} finishes what it judges and claims nothing more.")
            case "resume":
                runners.set_draining(on=False, **by)
                messages.success(request, f"Runner {name} claims work again.")
            case "rotate":
                request.session[SHOW_ONCE] = {"secret": runners.rotate(reason=reason, **by), "secret_name": name}
            case "revoke":
                runners.revoke(reason=reason, **by)
                messages.success(request, f"Runner {name} is revoked. The work that it held is queued again.")
            case _:
                raise Http404
    except UserError as error:
        messages.error(request, str(error))
    return redirect("/runners")
