"""The site as an ASGI application; `python -m leaderboard.serve` starts it.

Django keeps a request's whole body, in memory or in a file, before a view can look at it. LimitBody runs before that,
so no sender can fill the disk: it counts the bytes, discards a body that is too long, and answers 413. It goes on
reading for a while before it answers, because most senders listen only after sending everything. A browser gets a
page, all clients besides browsers JSON.

Alive answers /healthz before Django, with neither a thread nor the database. BoundedHandler gives every remaining
request a place in its class of requests (web/places.py). ProxyHeadersMiddleware believes only TRUSTED_PROXIES about a
client's address and scheme, so serve.py keeps uvicorn from it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

import django
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.http import HttpRequest, HttpResponseBase
from django.template.loader import render_to_string
from django.utils.http import parse_header_parameters
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from leaderboard import env, safety
from leaderboard.web.middleware import HEADERS

TOO_LARGE: Final = 413
PATIENCE: Final = 10  # this multiple of the limit is read and discarded, within PATIENCE_S
PATIENCE_S: Final = 10.0
MANY_DIGITS: Final = 19  # of a declared length that no request has
HEALTHZ: Final = "/healthz"
SWITCH_S: Final = 0.001  # a busy thread yields the interpreter after this time, which bounds the wait of the event loop


class LimitBody:
    def __init__(self, app: Application, limit_bytes: int) -> None:
        self._app = app
        self._limit_bytes = limit_bytes

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        total, is_complete = 0, False

        async def receive_some() -> Mapping[str, Any]:
            """Receive a message. To the application, a body that is too long looks like a sender who disconnected."""
            nonlocal total, is_complete
            event = await receive()
            if event["type"] == "http.request":
                total += len(event.get("body", b""))
                is_complete = not event.get("more_body", False)
            else:
                is_complete = True
            return {"type": "http.disconnect"} if total > self._limit_bytes else event

        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and len(declared) < MANY_DIGITS and int(declared) <= self._limit_bytes:
            await self._app(scope, receive_some, send)
            if total <= self._limit_bytes:
                return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                while not is_complete and total <= PATIENCE * self._limit_bytes:
                    await receive_some()
        detail = f"The request is too large: at most {self._limit_bytes:,} bytes"
        errors = [{"field": "body", "value": None, "message": detail}]
        kind, body = "application/json", json.dumps({"detail": detail, "errors": errors})
        if b"text/html" in dict(scope["headers"]).get(b"accept", b""):
            kind = "text/html; charset=utf-8"
            body = render_to_string("413.html", {"limit": f"{self._limit_bytes:,}"})
        await _send(send, TOO_LARGE, kind, body)


class Alive:
    """Answers HEALTHZ while the event loop runs. /readyz covers the database."""

    def __init__(self, app: Application) -> None:
        self._app = app

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] == HEALTHZ:
            await _send(send, 200, "application/json", json.dumps({"ok": True}))
        else:
            await self._app(scope, receive, send)


class PlainRequest(ASGIRequest):
    """A request whose texts are UTF-8, whatever its head claims.

    Django decodes with any codec of Python that the head names. Some of them fail, and some make texts that the
    database refuses.
    """

    def _set_content_type_params(self, meta: Mapping[str, Any]) -> None:
        try:
            self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except ValueError:  # a parameter in an unknown encoding
            self.content_type, self.content_params = "", {}


class BoundedHandler(ASGIHandler):
    """Django's handler, with a place for each request from the end of reading its body until its answer is made."""

    request_class = PlainRequest

    def __init__(self) -> None:
        super().__init__()
        # Django's apps must be loaded first.
        self._entrance = import_module("leaderboard.web.places").Entrance()
        self._observed = import_module("leaderboard.web.traffic").observed

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        make = super().get_response_async
        response: HttpResponseBase = await self._observed(request, lambda it: self._entrance.answer(it, make))
        return response


async def _send(send: Send, status: int, kind: str, body: str) -> None:
    sent = body.encode()
    fields = {**HEADERS, "Content-Type": kind, "Content-Length": str(len(sent)), "Cache-Control": "private, no-store"}
    headers = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": sent})


env.choose_settings("leaderboard.settings", serves_requests=True)
try:
    django.setup(set_prefix=False)
    safety.refuse_unsafe_settings()
except env.ConfigError as error:
    sys.exit(f"{error}")
from leaderboard.web.leaving import Send  # noqa: E402  (Django must be set up first)
from leaderboard.web.service import Application, Receive, WithHeartbeat  # noqa: E402

_site: Any = Alive(LimitBody(BoundedHandler(), settings.REQUEST_LIMIT_BYTES))
if settings.TRUSTED_PROXIES:
    _site = ProxyHeadersMiddleware(_site, settings.TRUSTED_PROXIES)
application = WithHeartbeat(_site, refusal=safety.unsafe_role)
sys.setswitchinterval(SWITCH_S)
import_module(settings.ROOT_URLCONF)
# Objects that exist by now live as long as the process. Scanning them took 0.1 s in each garbage collection.
gc.collect()
gc.freeze()
