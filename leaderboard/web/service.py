"""State of the service: heartbeats and readiness, and the page for an uncaught exception."""

import asyncio
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Any

import structlog
from django.db import DatabaseError, OperationalError, connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.views.decorators.http import require_safe

from leaderboard import broker
from leaderboard.competitions.models import Board
from leaderboard.judging.lease import clock
from leaderboard.judging.sweep import BEAT_S, beat
from leaderboard.operations import bans
from leaderboard.standings.read.boards import looks
from leaderboard.web import stream
from leaderboard.web.errors import RETRY_AFTER_S
from leaderboard.web.leaving import Send, leaving

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

log = structlog.get_logger(__name__)


class WithHeartbeat:
    """ASGI application with heartbeats from startup to shutdown, from which sweepers notice an outage.

    With each heartbeat, the process reads the banned networks again.

    It does not start if `refusal` returns a reason, and leaves without a failed request (web/leaving.py).
    """

    def __init__(self, app: Application, every_s: float = BEAT_S, refusal: Callable[[], str] = str) -> None:
        self._app = app
        self._every_s = every_s
        self._refusal = refusal

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, leaving.wrap(send))
            return
        ended = threading.Event()
        while (event := await receive())["type"] == "lifespan.startup":
            if reason := await asyncio.to_thread(self._refusal):
                await send({"type": "lifespan.startup.failed", "message": reason})
                return
            await asyncio.to_thread(_read_tables)
            leaving.await_signals(stream.hub.end)
            threading.Thread(target=self._beat_until, args=(ended,), name="heartbeat", daemon=True).start()
            await send({"type": "lifespan.startup.complete"})
        ended.set()
        await send({"type": f"{event['type']}.complete"})

    def _beat_until(self, ended: threading.Event) -> None:
        while True:
            try:
                beat(now=clock())
                bans.load(timezone.now())
            except Exception as error:  # without its database the site counts as away, too
                log.warning("heartbeat_failed", error=str(error))
            finally:
                connections.close_all()
            if ended.wait(self._every_s):
                return


def _read_tables() -> None:
    """Read the tables of all boards, so that no visitor waits for them: many lines take seconds."""
    began = time.monotonic()
    try:
        with transaction.atomic():
            seen = looks(Board.objects.select_related("competition").defer("version"), now=clock())
        log.info("tables_read", boards=len(seen), seconds=round(time.monotonic() - began, 3))
    except Exception as error:  # the first visitor reads them
        log.warning("tables_not_read", error=str(error))
    finally:
        connections.close_all()


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """Answer 200 while this process can serve: the database answers, and has at least the tables of this code.

    The tables may be newer. That lets the previous version serve until it is replaced.

    The broker is reported and not required: without it the sweeper wakes the runners.
    """
    if leaving.is_announced:
        return JsonResponse({"ok": False, "process": "stops"}, status=503)
    try:
        applied = set(MigrationRecorder(connection).applied_migrations())  # asked every time, even after a yes
        database = "ok" if migrations_of_this_code() <= applied else "migrations are missing; run `migrate`"
    except DatabaseError as error:
        log.error("readyz_failed", error=str(error))
        database = "no answer"
    state = {"ok": database == "ok", "database": database, "broker": "ok" if broker.answers() else "no answer"}
    return JsonResponse(state, status=200 if state["ok"] else 503)


@cache
def migrations_of_this_code() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def server_error(request: HttpRequest) -> HttpResponse:
    """The page for an exception that no view caught. It reads nothing from the database."""
    if isinstance(sys.exception(), OperationalError):
        return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": str(RETRY_AFTER_S)})
    return HttpResponse(render_to_string("500.html"), status=500)
