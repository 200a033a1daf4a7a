"""Pages for machines: is the site alive, what may robots read, the API's schema as a page."""

from __future__ import annotations

import sys
from typing import Final

import structlog
from django.db import DatabaseError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from leaderboard.web.errors import RETRY_AFTER_S

HIDDEN: Final = ("/api/", "/submissions", "/tokens", "/review", "/organise", "/invite-code")
ROBOTS: Final = "User-agent: *\n" + "".join(f"Disallow: {path}\n" for path in HIDDEN)

log = structlog.get_logger(__name__)


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the database answers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        log.error("healthz_failed", error=str(error))
        return JsonResponse({"ok": False, "database": "no answer"}, status=503)
    return JsonResponse({"ok": True, "database": "ok"})


@require_safe
def robots(request: HttpRequest) -> HttpResponse:
    return HttpResponse(ROBOTS, content_type="text/plain")


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    return render(request, "web/api_docs.html")


def server_error(request: HttpRequest) -> HttpResponse:
    """The page for an exception that no view caught. It reads nothing from the database."""
    if isinstance(sys.exception(), OperationalError):
        return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
    return HttpResponse(render_to_string("500.html"), status=500)
