"""Thresholds for holding results: current values, the effect of a change on past results, and applying it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_safe

from leaderboard.competitions.models import Competition
from leaderboard.errors import UserError
from leaderboard.review.rules.dry_run import MOST_RESULTS, dry_run, measured_of, unmeasured
from leaderboard.review.rules.screen import thresholds_of
from leaderboard.review.rules.set_thresholds import set_thresholds
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.pages.gate import managed, shell, tell
from leaderboard.web.organise.threshold_forms import FIXED, SETTABLE, ApplyForm, ThresholdForm, said


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    current = thresholds_of(competition)
    data = request.POST if request.method == "POST" else request.GET
    form = ThresholdForm(current, data)
    why = ApplyForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and why.is_valid():
        told = {"thresholds": form.unusual(), "reason": why.cleaned_data["reason"]}
        try:
            set_thresholds(competition=competition, actor=user_of(request), now=timezone.now(), **told)
        except UserError as error:
            tell(why, error)
        else:
            messages.success(request, "Set. It bears on what is reported from now on.")
            return redirect(f"/organise/{slug}/thresholds")
    return _page(request, competition, form, why)


@require_safe
def named(request: HttpRequest, slug: str) -> HttpResponse:
    """Redirect from /competitions/<slug>/thresholds to the organiser's page."""
    return redirect(f"/organise/{slug}/thresholds")


def _page(request: HttpRequest, competition: Competition, form: ThresholdForm, why: ApplyForm) -> HttpResponse:
    current = thresholds_of(competition)
    context: dict[str, Any] = {"form": form, "why": why, "rows": form.rows(), "fixed": FIXED, "most": MOST_RESULTS}
    context["is_usual"] = not competition.thresholds
    if form.is_bound and form.is_valid():
        context |= {
            "run": dry_run(measured_of(competition), current, form.thresholds),
            "unmeasured": unmeasured(competition),
            "changes": [
                (rule.id, said(current[rule.id]), said(form.thresholds[rule.id]))
                for rule in SETTABLE
                if current[rule.id] != form.thresholds[rule.id]
            ],
        }
    return shell(request, competition, "thresholds", context, status=400 if form.errors or why.errors else 200)
