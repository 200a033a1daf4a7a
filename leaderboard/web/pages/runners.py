"""The machines that judge, for organisers: which work, which are out of service and why."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from leaderboard.judging.models import Attempt, Epoch, Runner
from leaderboard.judging.states import RUNNING
from leaderboard.web.pages.account import user_of
from leaderboard.web.timing_epochs import EXPLAINED, title_of, waiting_decisions


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    if not user_of(request).is_staff:
        raise Http404
    held = dict(Attempt.objects.filter(state__in=RUNNING).values_list("runner_id", "submission_id"))
    epochs = {(epoch.hardware, epoch.name): epoch for epoch in Epoch.objects.all()}
    rows = []
    for runner in Runner.objects.order_by("name"):
        epoch = epochs.get((runner.hardware, runner.epoch))
        title = title_of(epoch.fingerprint if epoch and epoch.fingerprint else runner.fingerprint)
        rows.append({"runner": runner, "submission": held.get(runner.pk), "epoch": epoch, "title": title})
    decisions = waiting_decisions(user_of(request))
    return render(request, "web/runners.html", {"rows": rows, "decisions": decisions, "explained": EXPLAINED})
