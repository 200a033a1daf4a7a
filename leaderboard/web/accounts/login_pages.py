"""Account pages: logins, competitions and invites of an account; linking another login; changing a password."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard.accounts.logins import change_password
from leaderboard.accounts.models import User
from leaderboard.competitions.permissions import competitions_seen_by
from leaderboard.entrants.permissions import memberships_of
from leaderboard.entrants.teams import open_invites_of
from leaderboard.errors import UserError
from leaderboard.pipeline import link_logins
from leaderboard.web import limits
from leaderboard.web.accounts.pages import form_page, user_of
from leaderboard.web.accounts.sign_in_tries import count_try, remember_device
from leaderboard.web.forms import LinkForm, PasswordForm, add_refusal


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
    tried = count_try(request, sent["username"], (limits.LINK_USER, str(user.pk)))
    if tried.wait_s:
        return _page(request, form, wait_s=tried.wait_s)
    keep = {"this": user.get_username(), "other": sent["username"]}.get(sent.pop("keep"), "")
    try:
        account = link_logins(user=user, keep=keep, now=timezone.now(), **sent)
    except UserError as error:
        add_refusal(form, error)
        return _page(request, form, status=error.status)
    tried.was_right()
    login(request, account)
    messages.success(request, f"Both logins now belong to the account {account.get_username()}.")
    return redirect("/account")


@sensitive_post_parameters()
@login_required
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Change the password of this login, or of another login of the account."""
    user = user_of(request)
    own = [user, *User.objects.filter(linked_to=user).order_by("date_joined")]
    name = request.POST.get("login", "")
    chosen = next((login for login in own if login.get_username() == name), user)
    form = PasswordForm(chosen, request.POST or None, own=own)
    if request.method == "GET":
        return form_page(request, "password", form)
    if wait_s := limits.take(limits.PASSWORD_USER, str(user.pk)):
        return form_page(request, "password", PasswordForm(chosen, own=own), wait_s=wait_s)
    if not form.is_valid():
        return form_page(request, "password", form, status=400)
    sent = form.cleaned_data
    account = change_password(login=chosen, account=user, password=sent["new_password1"], now=timezone.now())
    update_session_auth_hash(request, account)
    limits.give_back((limits.PASSWORD_USER, str(user.pk)))
    messages.success(request, "Your password is changed. You are signed out everywhere else.")
    response = redirect("/account")
    remember_device(request, response, User.objects.get(pk=chosen.pk))
    return response


def _page(request: HttpRequest, form: LinkForm, *, status: int = 200, wait_s: int | None = None) -> HttpResponse:
    user = user_of(request)
    context: dict[str, Any] = {
        "logins": [user, *User.objects.filter(linked_to=user).order_by("date_joined")],
        "memberships": memberships_of(user).filter(competition__in=competitions_seen_by(user)),
        "invites": open_invites_of(user),
    }
    return form_page(request, "account", form, status=status, wait_s=wait_s, **context)
