"""One's account: its logins, the competitions it is in, invites; and linking another login of one's own."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST, require_safe

from leaderboard.accounts.models import User
from leaderboard.competitions.visible import competitions_seen_by
from leaderboard.entrants.checks import memberships_of
from leaderboard.entrants.invites import open_invites_of
from leaderboard.errors import UserError
from leaderboard.pipeline import link_logins
from leaderboard.web import limits
from leaderboard.web.forms import LinkForm
from leaderboard.web.pages.account import user_of


@login_required
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    return _page(request, LinkForm())


@sensitive_post_parameters()
@login_required
@require_POST
def link(request: HttpRequest) -> HttpResponse:
    user, form = user_of(request), LinkForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=400)
    sent = form.cleaned_data
    if wait_s := _knock(request, sent["username"]):
        return _later(request, form, wait_s)
    keep = {"this": user.get_username(), "other": sent["username"]}.get(sent.pop("keep"), "")
    try:
        account = link_logins(user=user, keep=keep, now=timezone.now(), **sent)
    except UserError as error:
        text = error.message[:1].upper() + error.message[1:] + "."
        form.add_error(error.field if error.field in form.fields else None, text)
        return _page(request, form, status=error.status)
    login(request, account)
    messages.success(request, f"Both logins are the account {account.get_username()} now. Sign in with either.")
    return redirect("/account")


def _knock(request: HttpRequest, username: str) -> int | None:
    """Guessing passwords is counted here as it is at sign-in, and for the one who is signed in too."""
    name, ip, who = username.lower(), limits.address(request), f"link {user_of(request).pk}"
    knocks = ((limits.SIGN_IN_HERE, f"{name} {ip}"), (limits.SIGN_IN_HERE, who), (limits.SIGN_IN_NAME, name))
    waits = [wait for limit, key in (*knocks, (limits.SIGN_IN_IP, ip)) if (wait := limits.take(limit, key))]
    return max(waits, default=None)


def _later(request: HttpRequest, form: LinkForm, wait_s: int) -> HttpResponse:
    minutes = -(-wait_s // 60)
    form.add_error(None, f"Too many tries. Wait {minutes} minute{'s'[: minutes > 1]} and try again.")
    response = _page(request, form, status=429)
    response["Retry-After"] = str(wait_s)
    return response


def _page(request: HttpRequest, form: LinkForm, status: int = 200) -> HttpResponse:
    user = user_of(request)
    form.describe()
    context = {
        "form": form,
        "logins": [user, *User.objects.filter(linked_to=user).order_by("date_joined")],
        "memberships": memberships_of(user).filter(competition__in=competitions_seen_by(user)),
        "invites": open_invites_of(user),
    }
    return render(request, "web/account.html", context, status=status)
