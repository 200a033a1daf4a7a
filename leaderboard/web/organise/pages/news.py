"""Announcements of a competition: publish, list, withdraw."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from leaderboard.competitions.announce import publish_announcement, withdraw_announcement
from leaderboard.competitions.models import Announcement
from leaderboard.errors import UserError
from leaderboard.web.accounts.pages import user_of
from leaderboard.web.organise.forms import AnnouncementForm
from leaderboard.web.organise.pages.gate import managed, shell, tell


@login_required
@require_http_methods(["GET", "POST"])
def index(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug)
    form = AnnouncementForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            publish_announcement(
                competition=competition, actor=user_of(request), now=timezone.now(), **form.cleaned_data
            )
        except UserError as error:
            tell(form, error)
        else:
            messages.success(request, "Published.")
            return redirect(f"/organise/{slug}/announcements")
    context = {"form": form, "announcements": competition.announcements.select_related("author")}
    return shell(request, competition, "announcements", context, status=400 if form.errors else 200)


@login_required
@require_POST
def withdraw(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    competition = managed(request, slug)
    found = get_object_or_404(Announcement.objects.select_related("competition"), pk=pk, competition=competition)
    try:
        withdraw_announcement(
            announcement=found, actor=user_of(request), reason=request.POST.get("reason", ""), now=timezone.now()
        )
        messages.success(request, f"“{found.title}” is shown nowhere any more.")
    except UserError as error:
        messages.warning(request, f"Not withdrawn: {error.message}.")
    return redirect(f"/organise/{slug}/announcements")
