"""The site as an ASGI application: `uvicorn leaderboard.asgi:application`.

Django keeps a request's whole body, in memory or in a file, before any view can look at it. LimitBody stands before
that, so no sender can fill the disk: it answers 413 by the declared length, and stops reading where none was declared.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from django.conf import settings
from django.core.asgi import get_asgi_application

from leaderboard import env

TOO_LARGE: Final = 413

Event = Mapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class LimitBody:
    def __init__(self, app: Application, limit_bytes: int) -> None:
        self._app = app
        self._limit_bytes = limit_bytes

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > self._limit_bytes:
            await self._refuse(send)
            return
        total = 0

        async def receive_some() -> Event:
            """To the application, a body that is too long looks like a sender who went away."""
            nonlocal total
            event = await receive()
            if event["type"] == "http.request":
                total += len(event["body"])
            return {"type": "http.disconnect"} if total > self._limit_bytes else event

        await self._app(scope, receive_some, send)
        if total > self._limit_bytes:
            await self._refuse(send)

    async def _refuse(self, send: Send) -> None:
        detail = f"The request is too large: at most {self._limit_bytes:,} bytes"
        body = json.dumps({"detail": detail, "errors": [{"field": "body", "value": None, "message": detail}]}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": TOO_LARGE, "headers": headers})
        await send({"type": "http.response.body", "body": body})


env.choose_settings("leaderboard.settings")
application = LimitBody(get_asgi_application(), settings.REQUEST_LIMIT_BYTES)
