"""Competitions by phase, the page of a competition, entering it, and using an invite code."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard import pipeline
from leaderboard.competitions.access import redeem_code
from leaderboard.errors import RateLimited, UserError
from leaderboard.web import limits
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.boards import contests
from leaderboard.web.forms import CodeForm, EnterForm


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    return render(request, "web/competitions.html", {"sections": contests.sections(request.user, timezone.now())})


@require_safe
def detail(request: HttpRequest, slug: str) -> HttpResponse:
    contest = _contest(request, slug)
    return _page(request, contest, EnterForm(initial={"rules_digest": contest.rules_digest}))


@login_required
@require_POST
def enter(request: HttpRequest, slug: str) -> HttpResponse:
    contest = _contest(request, slug)
    form = EnterForm(request.POST)
    form.full_clean()
    if contest.rules_digest and not form.cleaned_data.get("accept"):
        form.add_error("accept", "Entering means accepting the rules: tick this.")
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
        again.add_error(None, f"{error.message[:1].upper()}{error.message[1:]}.")
        return _page(request, contest, again, status=error.status)
    messages.success(request, f"You are in it as {entrant.shown_name}.")
    return redirect(f"/competitions/{slug}")


@login_required
@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def invite_code(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return _code_page(request, CodeForm())
    form = CodeForm(request.POST)
    if not form.is_valid():
        return _code_page(request, form, status=400)
    try:
        limits.check_code_tries(user_of(request).pk, request)
        code = redeem_code(text=form.cleaned_data["code"], user=user_of(request), now=timezone.now())
    except UserError as error:
        form.add_error("code", f"{error.message[:1].upper()}{error.message[1:]}.")
        response = _code_page(request, form, status=error.status)
        if isinstance(error, RateLimited):
            response["Retry-After"] = str(error.retry_after_s)
        return response
    messages.success(request, f"The code is good: you see {code.competition} now.")
    return redirect(f"/competitions/{code.competition.slug}")


def _contest(request: HttpRequest, slug: str) -> contests.Contest:
    found = contests.contest(slug, request.user, timezone.now())
    if found is None:
        raise Http404
    return found


def _page(request: HttpRequest, contest: contests.Contest, form: EnterForm, status: int = 200) -> HttpResponse:
    form.describe()
    return render(request, "web/competition.html", {"contest": contest, "form": form}, status=status)


def _code_page(request: HttpRequest, form: CodeForm, status: int = 200) -> HttpResponse:
    form.describe()
    return render(request, "web/invite_code.html", {"form": form}, status=status)
