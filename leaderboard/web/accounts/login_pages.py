"""Account pages: logins, competitions and invites of an account; linking another login; changing a password."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth import login, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
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
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.accounts.sign_in_tries import count_try, remember_device
from leaderboard.web.forms import LinkForm, PasswordForm


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
        return _later(request, form, tried.wait_s)
    keep = {"this": user.get_username(), "other": sent["username"]}.get(sent.pop("keep"), "")
    try:
        account = link_logins(user=user, keep=keep, now=timezone.now(), **sent)
    except UserError as error:
        text = error.message[:1].upper() + error.message[1:] + "."
        form.add_error(error.field if error.field in form.fields else None, text)
        return _page(request, form, status=error.status)
    tried.was_right()
    login(request, account)
    messages.success(request, f"Both logins are the account {account.get_username()} now. Sign in with either.")
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
        return _password_page(request, form)
    if wait_s := limits.take(limits.PASSWORD_USER, str(user.pk)):
        form = PasswordForm(chosen, own=own)
        response = _password_page(request, form, 429, late=f"Too many tries. Wait {limits.minutes(wait_s)}.")
        response["Retry-After"] = str(wait_s)
        return response
    if not form.is_valid():
        return _password_page(request, form, 400)
    sent = form.cleaned_data
    account = change_password(login=chosen, account=user, password=sent["new_password1"], now=timezone.now())
    update_session_auth_hash(request, account)
    limits.give_back((limits.PASSWORD_USER, str(user.pk)))
    messages.success(request, "Your password is changed. You are signed out everywhere else.")
    response = redirect("/account")
    remember_device(request, response, User.objects.get(pk=chosen.pk))
    return response


def _password_page(request: HttpRequest, form: PasswordForm, status: int = 200, late: str = "") -> HttpResponse:
    form.describe()
    return render(request, "web/password.html", {"form": form, "late": late}, status=status)


def _later(request: HttpRequest, form: LinkForm, wait_s: int) -> HttpResponse:
    form.add_error(None, f"Too many tries. Wait {limits.minutes(wait_s)} and try again.")
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
