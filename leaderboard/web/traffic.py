"""Every request to Django: its id, one line in the log, its time in the metrics.

The id is the caller's X-Request-Id if it is a plain one, else a new one. The answer has it, and with the caller's
network every line and audit row that the request writes. Queries of addresses are not logged.
"""

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from django.http import HttpRequest, HttpResponseBase

from leaderboard.accounts.models import User
from leaderboard.web import limits, metrics

PLAIN: Final = re.compile(r"[A-Za-z0-9._-]{8,64}", re.ASCII)
CALLER: Final = "photofinish.caller"  # key of META, which no client can set: a runner's name
GONE: Final = 499  # status in the log when the client went away before its answer
UNKNOWN: Final = "unknown"  # route of addresses that do not exist, or were refused before they were looked up

log = structlog.get_logger(__name__)


async def observed(
    request: HttpRequest, answer: Callable[[HttpRequest], Awaitable[HttpResponseBase]]
) -> HttpResponseBase:
    """Return the answer to the request, with its id."""
    given = request.headers.get("X-Request-Id", "")
    request_id = given if PLAIN.fullmatch(given) else uuid.uuid4().hex
    began, status = time.monotonic(), 500
    with structlog.contextvars.bound_contextvars(request=request_id, address=limits.address(request)):
        try:
            response = await answer(request)
            status = response.status_code
            response.headers["X-Request-Id"] = request_id
            return response
        except asyncio.CancelledError:
            status = GONE
            raise
        finally:
            _note(request, status, time.monotonic() - began)


def _note(request: HttpRequest, status: int, took_s: float) -> None:
    route = request.resolver_match.route if request.resolver_match else UNKNOWN
    method = request.method if request.method in ("GET", "HEAD", "POST", "OPTIONS") else "other"
    metrics.REQUEST_S.labels(route, method, str(status)).observe(took_s)
    write = log.debug if request.path.startswith("/static/") else log.info
    write(
        "request",
        method=request.method,
        path=request.path[:300],
        route=route,
        status=status,
        ms=round(1000 * took_s, 1),
        caller=request.META.get(CALLER) or _user_pk(request),
    )


def _user_pk(request: HttpRequest) -> int | None:
    """Return the user if a view asked for one. Asks no database."""
    had = vars(request)
    for known in (had.get("_cached_user"), had.get("_acached_user"), had.get("user")):
        if type(known) is User:  # a lazy user is of another type, and would ask the database
            return known.pk
    return None
