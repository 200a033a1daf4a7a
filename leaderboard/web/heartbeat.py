"""Heartbeats of the web processes, every few seconds, from which sweepers notice an outage (judging/outages.py)."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from django.db import connections
from django.utils import timezone

from leaderboard.judging.outages import BEAT_S, beat

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

log = structlog.get_logger(__name__)


class WithHeartbeat:
    """An ASGI application that beats from the server's startup to its shutdown."""

    def __init__(self, app: Application, every_s: float = BEAT_S) -> None:
        self._app = app
        self._every_s = every_s

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        ended = threading.Event()
        while (event := await receive())["type"] == "lifespan.startup":
            threading.Thread(target=self._beat_until, args=(ended,), name="heartbeat", daemon=True).start()
            await send({"type": "lifespan.startup.complete"})
        ended.set()
        await send({"type": f"{event['type']}.complete"})

    def _beat_until(self, ended: threading.Event) -> None:
        while True:
            try:
                beat(now=timezone.now())
            except Exception as error:  # without its database the site counts as away, too
                log.warning("heartbeat_failed", error=str(error))
            finally:
                connections.close_all()
            if ended.wait(self._every_s):
                return
