"""Addresses for machines: readiness, robots.txt, and the API's schema as a page."""

from __future__ import annotations

import sys
from functools import cache
from typing import Final

import structlog
from django.db import DatabaseError, OperationalError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.views.decorators.http import require_safe

from leaderboard import broker
from leaderboard.web.errors import RETRY_AFTER_S

HIDDEN: Final = ("/api/", "/submissions", "/tokens", "/review", "/organise", "/invite-code")
ROBOTS: Final = "User-agent: *\n" + "".join(f"Disallow: {path}\n" for path in HIDDEN)

log = structlog.get_logger(__name__)


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 while this process can serve: the database answers, and its tables are those of this code.

    The broker is reported and not required: without it the sweeper wakes the runners.
    """
    told = {"database": _database_state(), "broker": "ok" if broker.answers() else "no answer"}
    is_ready = told["database"] == "ok"
    return JsonResponse({"ok": is_ready, **told}, status=200 if is_ready else 503)


def _database_state() -> str:
    try:
        return "ok" if _is_migrated() else "migrations are missing; run `migrate`"
    except DatabaseError as error:
        log.error("readyz_failed", error=str(error))
        return "no answer"


def _is_migrated() -> bool:
    """Return whether every migration of this code is applied. Asks the database every time, even after a yes."""
    applied = MigrationRecorder(connection).applied_migrations()
    return _migrations_of_this_code() <= set(applied)


@cache
def _migrations_of_this_code() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


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
