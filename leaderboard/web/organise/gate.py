"""Access to pages of organisers and staff, and the steps that their views share.

Any role in a competition reads its pages, and an owner changes them. For everybody else the pages do not exist.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from operator import attrgetter
from typing import Any, Final, TypeVar

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from leaderboard.accounts.models import User
from leaderboard.competitions.calendar import phase_at
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import ADMINISTRATOR, ORDER, competitions_of, role_of
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import ActForm, add_refusal

READING: Final = ("GET", "HEAD")
PHASES: Final = {
    "before": ("not started", ""),
    "practice": ("practice", "running"),
    "contest": ("contest", "running"),
    "frozen": ("contest, frozen", "running"),
    "review": ("review", "warn"),
    "final": ("final", "good"),
    "open": ("final, still open", "good"),
}

T = TypeVar("T")
View = Callable[..., HttpResponseBase]
Act = Callable[..., Any]  # takes `actor`, `now` and the arguments of a form by name


def competition_page(*methods: str, to_change: str = Role.OWNER) -> Callable[[View], View]:
    """Decorate a view of one competition, which then takes the competition instead of its slug.

    Any role may read; a form needs the role `to_change`. Answers 404 without a role, 403 for a role that is too low.
    """

    def decorate(view: View) -> View:
        @login_required
        @require_http_methods(list(methods))
        @wraps(view)
        def checked(request: HttpRequest, slug: str, **path: Any) -> HttpResponseBase:
            competition = get_object_or_404(Competition, slug=slug)
            role = role_of(user_of(request), competition)
            if not role:
                raise Http404
            if request.method not in READING and ORDER[role] < ORDER[to_change]:
                raise PermissionDenied
            return view(request, competition, **path)

        return checked

    return decorate


def is_organiser(user: User) -> bool:
    """Return whether a user is staff or has a role in a competition."""
    return user.is_staff or competitions_of(user).exists()


def restricted_page(*methods: str, to: Callable[[User], bool] = attrgetter("is_staff")) -> Callable[[View], View]:
    """Decorate a view for the users that `to` admits, by default the staff. It does not exist for everybody else."""

    def decorate(view: View) -> View:
        @login_required
        @require_http_methods(list(methods))
        @wraps(view)
        def checked(request: HttpRequest, **path: Any) -> HttpResponseBase:
            if not to(user_of(request)):
                raise Http404
            return view(request, **path)

        return checked

    return decorate


def act_of(acts: Mapping[str, T], name: str) -> T:
    """Return the act that an address names."""
    if name not in acts:
        raise Http404
    return acts[name]


def posted(request: HttpRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def send(
    request: HttpRequest, form: ActForm, act: Act, *, done: str, to: str = "", names: Mapping[str, str] | None = None
) -> HttpResponse | None:
    """Do the act of a form that was sent. Return the redirect, or None if the page is to be shown with the form.

    `to`: by default this page. `to` and `done` may name the act's result: "Added {result}." `names`: fields of the act
    → fields of the form. The form keeps the status of a refusal.
    """
    if not form.is_bound or not form.is_valid():
        return None
    try:
        result = act(actor=user_of(request), now=timezone.now(), **form.arguments())
    except UserError as error:
        add_refusal(form, error, names)
        form.refused = error.status
        return None
    if done:
        messages.success(request, done.format(result=result))
    return redirect(to.format(result=result) or request.path)


def press(
    request: HttpRequest, act: Act, *, to: str, done: str, refused: str = "Not done", back: str = ""
) -> HttpResponse:
    """Do the act of a button, and redirect to `to`, or after a refusal to `back`."""
    try:
        act(actor=user_of(request), now=timezone.now())
    except UserError as error:
        messages.warning(request, f"{refused}: {error.message}.")
        return redirect(back or to)
    messages.success(request, done)
    return redirect(to)


def shell(
    request: HttpRequest, competition: Competition, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render a page of one competition in the frame of its organiser's pages; 400 if a form of the page has errors."""
    role = role_of(user_of(request), competition)
    frame = {
        "competition": competition,
        "base": f"/organise/{competition.slug}",
        "role": role,
        "may_edit": role in (Role.OWNER, ADMINISTRATOR),
        "may_review": ORDER[role] >= ORDER[Role.REVIEWER],
        "phase": phase_chip(competition),
    }
    if any(value.errors for value in context.values() if isinstance(value, ActForm)):
        status = 400
    return render(request, f"web/organise/{template}.html", frame | context, status=status)


def phase_chip(competition: Competition) -> dict[str, str]:
    text, tone = PHASES[phase_at(competition.schedule, timezone.now())]
    return {"text": text, "tone": tone}
