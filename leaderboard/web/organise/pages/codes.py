"""Invite codes of a competition: issue codes (their texts are shown once), see their use, revoke a code."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.competitions.access import codes_of, issue_codes, revoke_code
from leaderboard.competitions.models import InviteCode
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.forms import CodesForm
from leaderboard.web.organise.pages.gate import managed, shell, tell

SHOW_ONCE: Final = "new_codes"  # session key; lives from the form to the page after it
MAX_ROWS: Final = 500


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    form = CodesForm(competition, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            issued = issue_codes(
                competition=competition, actor=user_of(request), now=timezone.now(), **form.cleaned_data
            )
        except UserError as error:
            tell(form, error)
        else:
            request.session[SHOW_ONCE] = {"slug": slug, "texts": [one.text for one in issued]}
            return redirect(f"/organise/{slug}/codes")
    codes = codes_of(competition)
    context = {"form": form, "codes": codes[:MAX_ROWS], "counts": _counts(competition.pk), "most": MAX_ROWS}
    return shell(request, competition, "codes", context | _new(request, slug), status=400 if form.errors else 200)


@login_required
@require_POST
def revoke(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    competition = managed(request, slug)
    code = get_object_or_404(InviteCode.objects.select_related("competition"), pk=pk, competition=competition)
    revoke_code(code=code, actor=user_of(request), reason="revoked on its page", now=timezone.now())
    messages.success(request, f"{code.prefix}… is revoked.")
    return redirect(f"/organise/{slug}/codes")


def _new(request: HttpRequest, slug: str) -> dict[str, list[str]]:
    """Return the texts of new codes, which are shown a single time."""
    kept = request.session.get(SHOW_ONCE)
    if not kept or kept["slug"] != slug or request.method != "GET":
        return {}
    del request.session[SHOW_ONCE]
    return {"texts": kept["texts"]}


def _counts(competition: int) -> dict[str, int]:
    codes = InviteCode.objects.filter(competition=competition)
    return {
        "issued": codes.count(),
        "used": codes.filter(used_by__isnull=False, revoked_at=None).count(),
        "unused": codes.filter(used_by=None, revoked_at=None).count(),
    }
