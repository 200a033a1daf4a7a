"""Competitions by phase, the page of a competition, entering it, and using an invite code."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard import pipeline
from leaderboard.competitions.access import redeem_code
from leaderboard.errors import UserError
from leaderboard.web import limits
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.boards import contests
from leaderboard.web.forms import CodeForm, EnterForm, sentence
from leaderboard.web.middleware import with_wait


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "web/competitions.html", {"sections": contests.sections(request.user, timezone.now())})


@require_safe
def detail(request: HttpRequest, slug: str) -> HttpResponse:
    contest = contests.contest(slug, request.user, timezone.now())
    return _page(request, contest, EnterForm(initial={"rules_digest": contest.rules_digest}))


@login_required
@require_POST
def enter(request: HttpRequest, slug: str) -> HttpResponse:
    contest, form = contests.contest(slug, request.user, timezone.now()), EnterForm(request.POST)
    form.full_clean()
    if contest.rules_digest and not form.cleaned_data.get("accept"):
        form.add_error("accept", "Tick this box to accept the rules; nobody enters without accepting them.")
        return _page(request, contest, form, status=400)
    try:
        entrant = pipeline.enter(
            user=user_of(request),
            competition=contest.competition,
            code="",
            rules_digest=form.cleaned_data.get("rules_digest", ""),
            now=timezone.now(),
        )
    except UserError as error:
        again = EnterForm({"rules_digest": contest.rules_digest})
        again.add_error(None, sentence(error.message))
        return _page(request, contest, again, status=error.status)
    messages.success(request, f"You have entered as {entrant.shown_name}.")
    return redirect(f"/competitions/{slug}")


def _page(request: HttpRequest, contest: contests.Contest, form: EnterForm, status: int = 200) -> HttpResponse:
    return render(request, "web/competition.html", {"contest": contest, "form": form}, status=status)


@login_required
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def invite_code(request: HttpRequest) -> HttpResponse:
    form, refusal = CodeForm(request.POST if request.method == "POST" else None), None
    if request.method == "POST" and form.is_valid():
        try:
            limits.check_code_tries(user_of(request).pk, request)
            code = redeem_code(text=form.cleaned_data["code"], user=user_of(request), now=timezone.now())
        except UserError as error:
            form.add_error("code", sentence(error.message))
            refusal = error
        else:
            messages.success(request, f"The code is valid. You now have access to {code.competition}.")
            return redirect(f"/competitions/{code.competition.slug}")
    status = refusal.status if refusal else 400 if form.errors else 200
    response = render(request, "web/invite_code.html", {"form": form}, status=status)
    return with_wait(response, refusal) if refusal else response
