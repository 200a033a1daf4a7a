"""Access to organisers' pages: any role reads, an owner changes. For everybody else the page does not exist."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from leaderboard.competitions.calendar import phase_at
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import ADMINISTRATOR, ORDER, role_of
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.forms import Described

READING: Final = ("GET", "HEAD")
PHASES: Final = {
    "before": ("not begun", ""),
    "practice": ("practice", "running"),
    "contest": ("contest", "running"),
    "frozen": ("contest, frozen", "running"),
    "review": ("review", "warn"),
    "final": ("final", "good"),
    "open": ("final, open afterwards", "good"),
}


def managed(request: HttpRequest, slug: str, *, to_change: str = Role.OWNER) -> Competition:
    """Return the competition, if the user's role suffices: any role to read, `to_change` to send a form.

    Raises Http404 without a role, PermissionDenied for a role that is too low.
    """
    competition = get_object_or_404(Competition, slug=slug)
    role = role_of(user_of(request), competition)
    if not role:
        raise Http404
    if request.method not in READING and ORDER[role] < ORDER[to_change]:
        raise PermissionDenied
    return competition


def shell(
    request: HttpRequest, competition: Competition, template: str, context: dict[str, Any], status: int = 200
) -> HttpResponse:
    """Render a page of one competition inside the frame of its organiser's pages."""
    role = role_of(user_of(request), competition)
    phase, tone = PHASES[phase_at(competition.schedule, timezone.now())]
    frame = {
        "competition": competition,
        "base": f"/organise/{competition.slug}",
        "role": role,
        "may_edit": role in (Role.OWNER, ADMINISTRATOR),
        "may_review": ORDER[role] >= ORDER[Role.REVIEWER],
        "phase": {"text": phase, "tone": tone},
    }
    for value in context.values():
        if isinstance(value, Described):
            value.describe()
    return render(request, f"web/organise/{template}.html", frame | context, status=status)


def tell(form: forms.Form, error: UserError, also: dict[str, str] | None = None) -> None:
    """Add an error to its field (`also`: names of the act → names of the form), else above the form."""
    field = (also or {}).get(error.field, error.field)
    text = error.message[:1].upper() + error.message[1:]
    form.add_error(field if field in form.fields else None, text if text.endswith((".", "?", "!")) else text + ".")
