"""Begin and end a preview: the site as a stranger or a competitor sees it (web/preview.py)."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from leaderboard.competitions.models import Role
from leaderboard.web import preview
from leaderboard.web.organise.pages.gate import managed


@login_required
@require_POST
def begin(request: HttpRequest, slug: str) -> HttpResponse:
    competition = managed(request, slug, to_change=Role.VIEWER)
    viewer = request.POST.get("viewer", "")
    if viewer not in preview.VIEWERS:
        raise Http404
    preview.begin(request, viewer=viewer, competition=competition)
    return redirect(f"/competitions/{slug}")


@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    """End the preview and return to its start. The request may be repeated."""
    seen: preview.Preview | None = getattr(request, "preview", None)
    preview.end(request)
    return redirect(f"/organise/{seen.slug}" if seen else "/")
