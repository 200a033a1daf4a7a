"""Account pages: allauth's views with this site's limits, logins and pages; API tokens, linked logins."""

from collections.abc import Callable
from typing import Any, Final

from allauth.account import views as account_views
from allauth.account.adapter import get_adapter
from allauth.account.decorators import reauthentication_required
from allauth.account.internal.flows import password_change, reauthentication
from allauth.account.models import EmailAddress
from allauth.mfa.base import views as mfa_views
from allauth.socialaccount import views as social_views
from allauth.socialaccount.adapter import get_adapter as get_social_adapter
from allauth.usersessions import views as session_views
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.db import IntegrityError, transaction
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from leaderboard.accounts.logins import end_sessions, logins_and_agents
from leaderboard.accounts.models import ALL, NONE, PUBLIC, USUAL_SCOPES, ApiToken, User
from leaderboard.accounts.permissions import choose_data_sets, data_set_choice, lacks_second_factor
from leaderboard.accounts.tokens import issue_token, revoke_token, tokens_of
from leaderboard.competitions.permissions import competitions_seen_by
from leaderboard.entrants.enter import agents_of, create_agent
from leaderboard.entrants.permissions import memberships_of
from leaderboard.entrants.teams import open_invites_of
from leaderboard.errors import UserError, error_body
from leaderboard.pipeline import close_account, link_logins
from leaderboard.web import limits
from leaderboard.web.accounts.adapters import TYPED_LOGIN, note_sign_in
from leaderboard.web.accounts.export import export_of
from leaderboard.web.accounts.forms import TAKEN, AgentForm, CloseForm, LinkForm, PasswordForm, TokenForm
from leaderboard.web.api.base import NO_FACTOR
from leaderboard.web.forms import add_refusal
from leaderboard.web.middleware import APIS, Respond, refuse

SCOPE_TEXTS: Final = (
    {"value": "read", "about": "Read your submissions with their code, logs and verdicts."},
    {"value": "submit", "about": "Submit, enter competitions, and act in your team."},
    {"value": "review", "about": "Organise competitions and decide review cases, as far as your roles allow."},
)
DATA_SETS: Final = (
    (PUBLIC, "my ranked kernels with public code"),
    (ALL, "those, and after a contest also kernels that failed"),
    (NONE, "nothing of mine, my agents or my teams"),
)
LATE: Final = "Too many tries. Wait {} and try again."
SHOW_ONCE: Final = "new_token"  # session key; lives from the form to the page after it

SET_UP: Final = "/account/second-factor"
OPEN: Final = ("/sign-out", "/account/confirm", SET_UP, "/static/")  # to administrators without a second factor

Page = Callable[..., HttpResponseBase]


class SignIn(account_views.LoginView):  # type: ignore[misc]  # allauth has no types
    template_name = "web/sign_in.html"

    def post(self, request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponse:
        name = request.POST.get("username", "")
        self.tried = limits.count_try(request, name)
        if self.tried.wait_s:
            note_sign_in(request, "refused")
            form = self.get_form_class()(request=request, initial={"login": name})
            return too_late(self, form, self.tried.wait_s)
        response: HttpResponse = super().post(request, *arguments, **named)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        self.tried.was_right()
        self.request.session[TYPED_LOGIN] = User.objects.get(username=form.cleaned_data["login"]).pk
        response: HttpResponse = super().form_valid(form)
        if self.request.user.is_authenticated:  # no second factor waits
            reauthentication.reauthenticate_by_password(self.request)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        note_sign_in(self.request, "failed", User.objects.filter(username=form.cleaned_data.get("login", "")).first())
        response: HttpResponse = super().form_invalid(form)
        return response


class NewAccount:
    """Part of the views that make an account."""

    def post(self, request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponse:
        view: Any = self
        if wait_s := limits.take_each(*limits.by_address(limits.SIGN_UP_IP, request)):
            kept = {"data": None, "initial": {"username": request.POST.get("username", "")}}
            return too_late(view, view.get_form_class()(**view.get_form_kwargs() | kept), wait_s)
        response: HttpResponse = super().post(request, *arguments, **named)  # type: ignore[misc]
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        view: Any = self
        try:
            with transaction.atomic():
                response: HttpResponse = super().form_valid(form)  # type: ignore[misc]
        except IntegrityError:  # another sign-up took the name meanwhile
            form.add_error("username", TAKEN)
            response = view.form_invalid(form)
        return response


class SignUp(NewAccount, account_views.SignupView):  # type: ignore[misc]
    template_name = "web/sign_up.html"


class FinishSignUp(NewAccount, social_views.SignupView):  # type: ignore[misc]
    """The choice of a name after the return from a provider."""


class SecondFactor(mfa_views.AuthenticateView):  # type: ignore[misc]
    """The step of a sign-in after the right password."""

    def post(self, request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponse:
        user = self.stage.login.user
        self.tried = limits.count_code(request, user)
        if self.tried.wait_s:
            note_sign_in(request, "refused", user)
            return refuse(request.path, 429, self.tried.wait_s)
        response: HttpResponse = super().post(request, *arguments, **named)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        self.tried.was_right()
        response: HttpResponse = super().form_valid(form)
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        note_sign_in(self.request, "failed", self.stage.login.user)
        response: HttpResponse = super().form_invalid(form)
        return response


@method_decorator(transaction.atomic, "dispatch")
class ChangePassword(account_views.PasswordChangeView):  # type: ignore[misc]
    """Change the password of this login, or of another login of the account."""

    template_name = "web/password.html"
    form_class = PasswordForm

    def get_form_kwargs(self) -> dict[str, Any]:
        user = user_of(self.request)
        own = [user, *User.objects.filter(linked_to=user).order_by("date_joined")]
        name = self.request.POST.get("login", "")
        self.chosen = next((login for login in own if login.get_username() == name), user)
        kept: dict[str, Any] = super().get_form_kwargs()
        return kept | {"user": self.chosen, "own": own}

    def post(self, request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponse:
        if wait_s := limits.take(limits.PASSWORD_USER, str(user_of(request).pk)):
            return too_late(self, PasswordForm(**self.get_form_kwargs() | {"data": None}), wait_s)
        response: HttpResponse = super().post(request, *arguments, **named)
        return response

    def form_valid(self, form: Any) -> HttpResponse:
        form.save()
        account = User.objects.get(pk=user_of(self.request).pk)  # with the new generation of its sessions
        limits.give_back((limits.PASSWORD_USER, str(account.pk)))
        password_change.finalize_password_change(self.request, account)
        response = redirect("/account")
        limits.remember_device(self.request, response, User.objects.get(pk=self.chosen.pk))
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        response: HttpResponse = super().form_invalid(form)
        response.status_code = 400
        return response


class Sessions(session_views.ListUserSessionsView):  # type: ignore[misc]
    template_name = "web/sessions.html"

    def form_valid(self, form: Any) -> HttpResponse:
        """End all other sessions, and those from before the site kept a list of them."""
        response: HttpResponse = super().form_valid(form)
        update_session_auth_hash(self.request, end_sessions(user_of(self.request), now=timezone.now()))
        return response


def staff_second_factor(get_response: Respond) -> Respond:
    """Let an administrator without a second factor do no more than set one up, if STAFF_SECOND_FACTOR is on.

    Stands behind the authentication. Tokens are checked with the API's own authentication.
    """

    def respond(request: HttpRequest) -> HttpResponseBase:
        user = request.user
        if not isinstance(user, User) or request.path.startswith(OPEN) or not lacks_second_factor(user):
            return get_response(request)
        if request.path.startswith(APIS):
            return JsonResponse(error_body(403, NO_FACTOR, "second_factor_missing"), status=403)
        return HttpResponseRedirect(SET_UP)

    return respond


def needs_mail(page: Page) -> Page:
    """Return the page for a site that sends mail; elsewhere it does not exist."""

    def respond(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        if not settings.MAIL_URL:
            raise Http404
        return page(request, *arguments, **named)

    return respond


def limited(page: Page, limit: limits.Limit) -> Page:
    """Return the page with a limit of its forms, by user for signed-in people, else by address."""

    def respond(request: HttpRequest, *arguments: Any, **named: Any) -> HttpResponseBase:
        if request.method == "POST":
            known = request.user.is_authenticated
            tries = ((limit, str(request.user.pk)),) if known else limits.by_address(limit, request)
            if wait_s := limits.take_each(*tries):
                return refuse(request.path, 429, wait_s)
        return page(request, *arguments, **named)

    return respond


@login_required
@require_http_methods(["GET", "POST"])
def tokens(request: HttpRequest) -> HttpResponse:
    if request.method == "POST":
        response: HttpResponse = _make_token(request)
        return response
    form = TokenForm(initial={"scopes": list(USUAL_SCOPES)}, agents=_agent_names(request))
    return _token_page(request, form, **request.session.pop(SHOW_ONCE, {}))


def _agent_names(request: HttpRequest) -> list[str]:
    return list(agents_of(user_of(request)).values_list("username", flat=True))


@reauthentication_required  # type: ignore[untyped-decorator]
def _make_token(request: HttpRequest) -> HttpResponse:
    owner, form = user_of(request), TokenForm(request.POST, agents=_agent_names(request))
    if form.is_valid():
        agent = agents_of(owner).filter(username=form.cleaned_data["agent"]).first()
        try:
            with transaction.atomic():
                token, secret = issue_token(owner=agent or owner, now=timezone.now(), **form.arguments())
                get_adapter().send_notification_mail("account/email/token_made", owner, {"token": token})
        except UserError as error:
            add_refusal(form, error)
        else:
            request.session[SHOW_ONCE] = {"secret": secret, "secret_name": token.name}
            return redirect("/tokens")
    return _token_page(request, form)


def _token_page(
    request: HttpRequest, form: TokenForm, agent_form: AgentForm | None = None, status: int = 200, **context: Any
) -> HttpResponse:
    owner, now = user_of(request), timezone.now()
    agents = list(agents_of(owner))
    found = [token for account in (owner, *agents) for token in tokens_of(account, now).select_related("owner")]
    told = {"tokens": found, "scopes": SCOPE_TEXTS, "agents": agents, "agent_form": agent_form or AgentForm()}
    return form_page(request, "tokens", form, status=status, **told, **context)


@reauthentication_required  # type: ignore[untyped-decorator]
@require_POST
def make_agent(request: HttpRequest) -> HttpResponse:
    """Create an agent, a program's account, for which the page then makes tokens."""
    form = AgentForm(request.POST)
    if form.is_valid():
        try:
            create_agent(owner=user_of(request), name=form.cleaned_data["agent_name"], now=timezone.now())
        except UserError as error:
            add_refusal(form, error, {"name": "agent_name"})
        else:
            return redirect("/tokens")
    empty = TokenForm(initial={"scopes": list(USUAL_SCOPES)}, agents=_agent_names(request))
    return _token_page(request, empty, form, status=400)


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    mine = ApiToken.objects.filter(owner__in=logins_and_agents([user_of(request).account_id]))
    token = get_object_or_404(mine, pk=pk)
    revoke_token(token=token, actor=user_of(request), now=timezone.now())
    return redirect("/tokens")


def user_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # login_required checks it
    return request.user


def too_late(view: Any, form: BaseForm, wait_s: int) -> HttpResponse:
    """Return the view's page for a person who tried too often, and may try again in `wait_s` seconds."""
    context = view.get_context_data(form=form, late=LATE.format(limits.minutes(wait_s)))
    response: HttpResponse = view.render_to_response(context, status=429, headers={"Retry-After": str(wait_s)})
    return response


def form_page(request: HttpRequest, name: str, form: BaseForm, *, status: int = 200, **context: Any) -> HttpResponse:
    return render(request, f"web/{name}.html", {"form": form, **context}, status=status)


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
        response = _account_page(request, form, status=429, late=LATE.format(limits.minutes(tried.wait_s)))
        response["Retry-After"] = str(tried.wait_s)
        return response
    keep = {"this": user.get_username(), "other": sent["username"]}.get(sent.pop("keep"), "")
    try:
        with transaction.atomic():
            account = link_logins(user=user, keep=keep, now=timezone.now(), **sent)
            get_adapter().send_notification_mail("account/email/login_linked", account, {"name": sent["username"]})
    except UserError as error:
        add_refusal(form, error)
        return _account_page(request, form, status=error.status)
    tried.was_right()
    login(request, account)
    messages.success(request, f"Both logins now belong to the account {account.get_username()}.")
    return redirect("/account")


@login_required
@require_http_methods(["GET", "POST"])
@reauthentication_required(allow_get=True)  # type: ignore[untyped-decorator]
def close(request: HttpRequest) -> HttpResponse:
    """Close the account, or erase the person from it."""
    user, form = user_of(request), CloseForm(request.POST or None)
    if not form.is_valid():
        return form_page(request, "close", form, status=400 if form.errors else 200)
    erase = form.cleaned_data["how"] == CloseForm.ERASE
    notice = get_adapter()
    try:
        if form.cleaned_data["username"] != user.get_username():
            raise UserError("username", "", "type the name of your account")
        addresses = list(EmailAddress.objects.filter(user=user, verified=True).values_list("email", flat=True))
        with transaction.atomic():
            close_account(account=user, erase=erase, now=timezone.now())
            for address in addresses:
                notice.send_notification_mail("account/email/account_closed", user, {"erased": erase}, address)
    except UserError as error:
        add_refusal(form, error)
        return form_page(request, "close", form, status=error.status)
    logout(request)
    messages.success(request, "Your account is erased." if erase else "Your account is closed.")
    return redirect("/")


@login_required
@require_POST
@reauthentication_required  # type: ignore[untyped-decorator]
def export(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    if wait_s := limits.take(limits.EXPORT_USER, str(user.pk)):
        return refuse(request.path, 429, wait_s)
    name = f"photofinish-{user.get_username()}.zip"
    return HttpResponse(
        export_of(user),
        content_type="application/zip",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


@login_required
@require_POST
def data_sets(request: HttpRequest) -> HttpResponse:
    try:
        choose_data_sets(user=user_of(request), choice=request.POST.get("choice", ""), now=timezone.now())
    except UserError as error:
        return _account_page(request, LinkForm(), status=error.status, refused=error.message)
    return redirect("/account#data")


def _account_page(request: HttpRequest, form: LinkForm, **context: Any) -> HttpResponse:
    user = user_of(request)
    context |= {
        "logins": [user, *User.objects.filter(linked_to=user).order_by("date_joined")],
        "memberships": memberships_of(user).filter(competition__in=competitions_seen_by(user)),
        "invites": open_invites_of(user),
        "sends_mail": bool(settings.MAIL_URL),
        "providers": [provider.name for provider in get_social_adapter().list_providers(request)],
        "email": EmailAddress.objects.filter(user=user).order_by("-verified").first(),
        "data_set": data_set_choice(user),
        "data_sets": DATA_SETS,
    }
    return form_page(request, "account", form, **context)
