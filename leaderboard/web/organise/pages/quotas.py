"""The quotas of a competition, by mode."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from leaderboard.errors import UserError
from leaderboard.submissions.ledger import set_quotas
from leaderboard.submissions.quota import parse_quotas
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.pages.gate import managed, shell, tell
from leaderboard.web.organise.quota_form import QuotaForm


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    form = QuotaForm(parse_quotas(competition.quotas), request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        told = {"quotas": {**competition.quotas, **form.quotas()}, "reason": form.cleaned_data["reason"]}
        try:
            set_quotas(competition=competition, actor=user_of(request), now=timezone.now(), **told)
        except UserError as error:
            tell(form, error)
        else:
            messages.success(request, "Set. It bears on what may be sent from now on.")
            return redirect(f"/organise/{slug}/quotas")
    return shell(request, competition, "quotas", {"form": form}, status=400 if form.errors else 200)
