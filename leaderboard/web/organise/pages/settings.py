"""A competition's settings in one form, and its roles."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.competitions.access import grant_role, revoke_role
from leaderboard.competitions.edit import edit_competition
from leaderboard.competitions.models import Role
from leaderboard.competitions.permissions import role_of
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.forms import CompetitionForm, RoleForm
from leaderboard.web.organise.pages.gate import managed, shell, tell


@login_required
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    form = CompetitionForm.of(competition, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            edit_competition(
                competition=competition,
                actor=user_of(request),
                settings=form.settings(),
                reason=form.cleaned_data["reason"],
                now=timezone.now(),
            )
        except UserError as error:
            tell(form, error)
        else:
            messages.success(request, "Saved." if form.settings() else "Nothing was changed.")
            return redirect(f"/organise/{slug}/settings")
    return shell(request, competition, "settings", {"form": form}, status=400 if form.errors else 200)


@login_required
@require_http_methods(["GET", "POST"])
def roles(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    form = RoleForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            given = grant_role(competition=competition, actor=user_of(request), now=timezone.now(), **form.cleaned_data)
        except UserError as error:
            tell(form, error)
        else:
            messages.success(request, f"{given.user} is {given.role} now.")
            return redirect(f"/organise/{slug}/roles")
    context = {"form": form, "roles": competition.roles.select_related("user").order_by("user__username")}
    return shell(request, competition, "roles", context, status=400 if form.errors else 200)


@login_required
@require_POST
def revoke(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    competition = managed(request, slug)
    role = get_object_or_404(Role.objects.select_related("competition", "user"), pk=pk, competition=competition)
    try:
        revoke_role(role=role, actor=user_of(request), now=timezone.now())
        messages.success(request, f"{role.user} has no role here any more.")
    except UserError as error:
        messages.warning(request, f"Not taken back: {error.message}.")
    return redirect(f"/organise/{slug}/roles" if role_of(user_of(request), competition) else "/organise")
