"""Export files for organisers."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard.web.organise import exports
from leaderboard.web.organise.pages.gate import managed, shell


@login_required
@require_safe
def index(request: HttpRequest, slug: str) -> HttpResponse:
    return shell(request, managed(request, slug), "exports", {"exports": exports.EXPORTS.values()})


@login_required
@require_safe
def file(request: HttpRequest, slug: str, name: str, kind: str) -> StreamingHttpResponse:
    competition, export = managed(request, slug), exports.EXPORTS.get(name)
    if export is None or kind not in exports.TYPES:
        raise Http404
    saved_as = f"{slug}-{name}-{timezone.now():%Y-%m-%d}.{kind}"
    return StreamingHttpResponse(
        exports.stream(export, competition, kind),
        content_type=exports.TYPES[kind],
        headers={"Content-Disposition": f'attachment; filename="{saved_as}"'},
    )
