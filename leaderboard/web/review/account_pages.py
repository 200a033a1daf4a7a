"""Suspended accounts with dates and reasons; suspension by name, and reinstatement. For owners and staff."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from leaderboard import pipeline
from leaderboard.accounts.models import User
from leaderboard.competitions.models import Competition, Role
from leaderboard.errors import UserError
from leaderboard.review.suspension import standing_suspensions
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.review.acts import DONE
from leaderboard.web.review.forms import AccountForm

EVERYWHERE = ("", "every competition")
ACTS = {"suspend": pipeline.suspend_account, "reinstate": pipeline.reinstate_account}


@login_required
@require_http_methods(["GET", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    owned = _owned(user_of(request))
    form = AccountForm(request.POST or None, places=_places(owned, user_of(request)))
    if request.method == "GET" or not form.is_valid():
        return _page(request, form, owned, status=200 if request.method == "GET" else 400)
    try:
        _act(user_of(request), form, owned)
    except UserError as error:
        form.add_error("name" if error.field == "user" else None, f"{error.message[:1].upper()}{error.message[1:]}.")
        return _page(request, form, owned, status=error.status)
    messages.success(request, f"{DONE[form.cleaned_data['act']]}: {form.cleaned_data['name']}.")
    return redirect("/review/accounts")


def _act(actor: User, form: AccountForm, owned: QuerySet[Competition]) -> None:
    sent = form.cleaned_data
    user = User.objects.filter(username__iexact=sent["name"]).first()
    if user is None:
        raise UserError("user", sent["name"], "nobody has this name", status=404)
    competition = owned.get(slug=sent["where"]) if sent["where"] else None
    act = ACTS[sent["act"]]
    act(user=user.account, competition=competition, actor=actor, reason=sent["reason"], now=timezone.now())


def _page(request: HttpRequest, form: AccountForm, owned: QuerySet[Competition], status: int) -> HttpResponse:
    rows = standing_suspensions(owned, everywhere=user_of(request).is_staff)
    return render(request, "web/review_accounts.html", {"form": form, "rows": rows}, status=status)


def _owned(user: User) -> QuerySet[Competition]:
    """Return the competitions in which this person may suspend accounts.

    Staff may suspend in all of them. Raises Http404 if there are none.
    """
    owned = Competition.objects.all()
    if not user.is_staff:
        owned = owned.filter(roles__user=user, roles__role=Role.OWNER)
    if not user.is_staff and not owned.exists():
        raise Http404
    return owned


def _places(owned: QuerySet[Competition], user: User) -> list[tuple[str, str]]:
    return [*([EVERYWHERE] if user.is_staff else []), *owned.values_list("slug", "name")]
