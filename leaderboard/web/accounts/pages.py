"""Account pages: sign-up, sign-in and sign-out, API tokens, linked logins, passwords."""

from typing import Any, Final

import structlog
from django.contrib import messages
from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.db import IntegrityError, transaction
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard.accounts.logins import change_password, logins_of
from leaderboard.accounts.models import USUAL_SCOPES, ApiToken, User
from leaderboard.accounts.tokens import issue_token, revoke_token, tokens_of
from leaderboard.audit.record import record
from leaderboard.competitions.permissions import competitions_seen_by
from leaderboard.entrants.permissions import memberships_of
from leaderboard.entrants.teams import open_invites_of
from leaderboard.errors import UserError
from leaderboard.pipeline import link_logins
from leaderboard.web import limits, metrics
from leaderboard.web.forms import TAKEN, LinkForm, PasswordForm, SignInForm, SignUpForm, TokenForm, add_refusal

SCOPE_TEXTS: Final = (
    {"value": "read", "about": "Read your submissions with their code, logs and verdicts."},
    {"value": "submit", "about": "Submit, enter competitions, and act in your team."},
    {"value": "review", "about": "Read and decide review cases, if you are a reviewer."},
)
SHOW_ONCE: Final = "new_token"  # session key; lives from the form to the page after it

log = structlog.get_logger(__name__)


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    context: dict[str, Any] = {"next": _next(request, default="")}
    if request.method == "GET":
        return form_page(request, "sign_in", SignInForm(request), **context)
    name = request.POST.get("username", "")
    tried = limits.count_try(request, name)
    if tried.wait_s:
        _note_sign_in(request, "refused")
        form = SignInForm(request, initial={"username": name})
        return form_page(request, "sign_in", form, wait_s=tried.wait_s, **context)
    form = SignInForm(request, data=request.POST)
    if not form.is_valid():
        _note_sign_in(request, "failed", User.objects.filter(username=form.cleaned_data.get("username", "")).first())
        return form_page(request, "sign_in", form, **context)
    tried.was_right()
    login(request, form.get_user())
    _note_sign_in(request, "done", form.get_user())
    response = redirect(_next(request))
    limits.remember_device(request, response, User.objects.get(username=form.cleaned_data["username"]))
    return response


def _note_sign_in(request: HttpRequest, result: str, user: User | None = None) -> None:
    """Record an attempt to sign in. The typed name is not kept: it may be a password in the wrong field."""
    metrics.SIGN_INS.labels(result).inc()
    if user is not None:
        record(f"sign_in_{result}", user, actor=user if result == "done" else None, now=timezone.now())
    agent = request.headers.get("User-Agent", "")[:200]
    log.info("sign_in", result=result, login=user.pk if user else None, agent=agent)


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    form = SignUpForm(request.POST if request.method == "POST" else None)
    context: dict[str, Any] = {"next": _next(request, default="")}
    if request.method == "POST" and (wait_s := limits.take_each(*limits.by_address(limits.SIGN_UP_IP, request))):
        form = SignUpForm(initial={"username": request.POST.get("username", "")})
        return form_page(request, "sign_up", form, wait_s=wait_s, **context)
    if not form.is_valid():
        return form_page(request, "sign_up", form, **context)
    try:
        with transaction.atomic():
            user = form.save()
    except IntegrityError:  # another sign-up took the name meanwhile
        form.add_error("username", TAKEN)
        return form_page(request, "sign_up", form, **context)
    login(request, user)
    response = redirect(_next(request))
    limits.remember_device(request, response, user)
    return response


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("/")


@login_required
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    owner = user_of(request)
    context: dict[str, Any] = {"tokens": tokens_of(owner), "scopes": SCOPE_TEXTS}
    if request.method == "GET":
        form = TokenForm(initial={"scopes": list(USUAL_SCOPES)})
        return form_page(request, "tokens", form, **context, **request.session.pop(SHOW_ONCE, {}))
    form = TokenForm(request.POST)
    if form.is_valid():
        try:
            token, secret = issue_token(owner=owner, now=timezone.now(), **form.cleaned_data)
        except UserError as error:
            add_refusal(form, error)
        else:
            request.session[SHOW_ONCE] = {"secret": secret, "secret_name": token.name}
            return redirect("/tokens")
    return form_page(request, "tokens", form, **context)


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, owner__in=logins_of(user_of(request)))
    revoke_token(token=token, actor=user_of(request), now=timezone.now())
    return redirect("/tokens")


def user_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # login_required checks it
    return request.user


def form_page(
    request: HttpRequest, name: str, form: BaseForm, *, status: int = 200, wait_s: int | None = None, **context: Any
) -> HttpResponse:
    """Render a page with a form. `wait_s`: the person tried too often, and may try again in so many seconds."""
    if wait_s is None:
        return render(request, f"web/{name}.html", {"form": form, **context}, status=status)
    late = f"Too many tries. Wait {limits.minutes(wait_s)} and try again."
    response = render(request, f"web/{name}.html", {"form": form, "late": late, **context}, status=429)
    response["Retry-After"] = str(wait_s)
    return response


def _next(request: HttpRequest, default: str = "/") -> str:
    """Return the requested address if it is on this site, else `default`."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if safe else default


@login_required
@require_safe
def mine(request: HttpRequest) -> HttpResponse:
    return _account_page(request, LinkForm())


@sensitive_post_parameters()
@login_required
@require_POST
def link(request: HttpRequest) -> HttpResponse:
    user, form = user_of(request), LinkForm(request.POST)
    if not form.is_valid():
        return _account_page(request, form, status=400)
    sent = form.cleaned_data
    tried = limits.count_try(request, sent["username"], (limits.LINK_USER, str(user.pk)))
    if tried.wait_s:
        return _account_page(request, form, wait_s=tried.wait_s)
    keep = {"this": user.get_username(), "other": sent["username"]}.get(sent.pop("keep"), "")
    try:
        account = link_logins(user=user, keep=keep, now=timezone.now(), **sent)
    except UserError as error:
        add_refusal(form, error)
        return _account_page(request, form, status=error.status)
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
    limits.remember_device(request, response, User.objects.get(pk=chosen.pk))
    return response


def _account_page(
    request: HttpRequest, form: LinkForm, *, status: int = 200, wait_s: int | None = None
) -> HttpResponse:
    user = user_of(request)
    context: dict[str, Any] = {
        "logins": [user, *User.objects.filter(linked_to=user).order_by("date_joined")],
        "memberships": memberships_of(user).filter(competition__in=competitions_seen_by(user)),
        "invites": open_invites_of(user),
    }
    return form_page(request, "account", form, status=status, wait_s=wait_s, **context)
