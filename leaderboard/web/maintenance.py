"""Middleware for maintenance: a change by anybody but staff and runners answers 503, with the sentence and a time."""

from datetime import datetime
from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils import timezone

from leaderboard.errors import error_body
from leaderboard.operations import maintenance
from leaderboard.operations.models import Maintenance
from leaderboard.web.forms import sentence
from leaderboard.web.middleware import APIS, Respond

READING: Final = ("GET", "HEAD", "OPTIONS")
OPEN: Final = (
    "/sign-in",
    "/sign-in/code",
    "/sign-in/passkey",
    "/sign-out",
    "/preview/leave",
    "/popcorn/admin/start",
    "/popcorn/admin/stop",
    "/api/v1/admin/start",
    "/api/v1/admin/stop",
)  # change no more than the session, or the maintenance itself, for staff alone
RUNNERS: Final = "/api/runner/"


def changes_wait(get_response: Respond) -> Respond:
    """Stands behind the authentication. Staff change the site in the browser, by session."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        if request.method in READING or request.path in OPEN or request.path.startswith(RUNNERS):
            return get_response(request)
        found = maintenance.current()
        if found is None or (request.user.is_authenticated and request.user.is_staff):
            return get_response(request)
        return _refuse(request, found, timezone.now())

    return respond


def _refuse(request: HttpRequest, found: Maintenance, now: datetime) -> HttpResponse:
    response: HttpResponse
    if request.path.startswith(APIS):
        detail = f"Maintenance until {found.until:%Y-%m-%d %H:%M} UTC: {sentence(found.text)} Nothing was changed."
        response = JsonResponse(error_body(503, detail, "maintenance"), status=503)
    else:
        response = render(request, "web/maintenance.html", {"found": found}, status=503)
    response.headers["Retry-After"] = str(maintenance.retry_after_s(found, now))
    return response
