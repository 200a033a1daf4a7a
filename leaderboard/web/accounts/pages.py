"""Pages for signing up, signing in and out, and managing API tokens."""

from __future__ import annotations

from typing import Final

from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import USUAL_SCOPES, ApiToken, User
from leaderboard.accounts.tokens import issue_token, revoke_token, tokens_of
from leaderboard.errors import UserError
from leaderboard.web import limits
from leaderboard.web.accounts.sign_in_tries import count_try, remember_device
from leaderboard.web.forms import SignInForm, SignUpForm, TokenForm

SCOPES_SAID: Final = (
    {"value": "read", "about": "See your submissions, their code, logs and verdicts."},
    {"value": "submit", "about": "Send submissions in your name, enter competitions, act in a team."},
    {"value": "review", "about": "Read cases of review and decide on them, where you are a reviewer."},
)

SHOW_ONCE: Final = "new_token"  # session key; lives from the form to the page after it


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    if request.method == "GET":
        return _auth_page(request, SignInForm(request))
    name = request.POST.get("username", "")
    tried = count_try(request, name)
    if tried.wait_s:
        return _later(request, SignInForm(request, initial={"username": name}), tried.wait_s)
    form = SignInForm(request, data=request.POST)
    if not form.is_valid():
        return _auth_page(request, form)
    tried.was_right()
    login(request, form.get_user())
    response = redirect(_next(request))
    remember_device(request, response, User.objects.get(username=form.cleaned_data["username"]))
    return response


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def sign_up(request: HttpRequest) -> HttpResponse:
    form = SignUpForm(request.POST if request.method == "POST" else None)
    if request.method == "GET":
        return _auth_page(request, form)
    wait = limits.take_each(*limits.by_address(limits.SIGN_UP_IP, request))
    if wait is not None:
        return _later(request, SignUpForm(initial={"username": request.POST.get("username", "")}), wait)
    if not form.is_valid():
        return _auth_page(request, form)
    user = form.save()
    login(request, user)
    response = redirect(_next(request))
    remember_device(request, response, user)
    return response


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("/")


@login_required
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    owner = user_of(request)
    if request.method == "GET":
        form = TokenForm(initial={"scopes": list(USUAL_SCOPES)})
        return _tokens_page(request, form, **request.session.pop(SHOW_ONCE, {}))
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _tokens_page(request, form)
    data = form.cleaned_data
    try:
        token, secret = issue_token(owner=owner, name=data["name"], scopes=data["scopes"], now=timezone.now())
    except UserError as error:
        form.add_error(error.field if error.field in form.fields else None, error.message)
        return _tokens_page(request, form)
    request.session[SHOW_ONCE] = {"secret": secret, "secret_name": token.name}  # until the next page has shown it
    return redirect("/tokens")


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, owner__in=logins_of(user_of(request)))
    revoke_token(token=token, actor=user_of(request), now=timezone.now())
    return redirect("/tokens")


def user_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # login_required checks it
    return request.user


def _auth_page(request: HttpRequest, form: SignInForm | SignUpForm, status: int = 200) -> HttpResponse:
    name = "sign_in" if isinstance(form, SignInForm) else "sign_up"
    return render(request, f"web/{name}.html", {"form": form, "next": _next(request, default="")}, status=status)


def _later(request: HttpRequest, form: SignInForm | SignUpForm, wait_s: int) -> HttpResponse:
    name = "sign_in" if isinstance(form, SignInForm) else "sign_up"
    late = f"Too many tries. Wait {limits.minutes(wait_s)} and try again."
    context = {"form": form, "next": _next(request, default=""), "late": late}
    response = render(request, f"web/{name}.html", context, status=429)
    response["Retry-After"] = str(wait_s)
    return response


def _tokens_page(request: HttpRequest, form: TokenForm, **more: str) -> HttpResponse:
    living = tokens_of(user_of(request))
    return render(request, "web/tokens.html", {"form": form, "tokens": living, "scopes": SCOPES_SAID, **more})


def _next(request: HttpRequest, default: str = "/") -> str:
    """Return the requested address if it is on this site, else `default`."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(wanted, {request.get_host()}, require_https=request.is_secure())
    return wanted if safe else default
