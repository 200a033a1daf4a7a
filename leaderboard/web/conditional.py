"""HTTP caching: an ETag for each answer to a GET, and public answers for a moment.

The ETag is a digest of the content, so it is right for every cause of a change. Rankings themselves are kept by their
board's revision (standings/read/table.py). An answer is public only if the request names no user: neither cookie nor
token. A cache then answers a crowd, at most PUBLIC_S late.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.cache import get_conditional_response, patch_vary_headers

PUBLIC_S: Final = 10
PUBLIC: Final = ("boards", "competitions", "collections", "entries")  # at the top, and below /api/v1


class Conditional:
    """Middleware outside of the sessions that sets ETag and Cache-Control, and answers 304 to current copies."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if request.method not in ("GET", "HEAD") or response.status_code != 200:
            return response
        if not isinstance(response, HttpResponse) or request.path.startswith("/static/"):
            return response
        if _is_public(request, response):
            response.headers["Cache-Control"] = f"public, max-age={PUBLIC_S}"
            patch_vary_headers(response, ("Cookie", "Authorization"))
        etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
        response.headers["ETag"] = etag
        return get_conditional_response(request, etag=etag, response=response) or response


def _is_public(request: HttpRequest, response: HttpResponse) -> bool:
    if request.COOKIES or "Authorization" in request.headers or response.cookies or "Cache-Control" in response.headers:
        return False
    first = request.path.removeprefix("/api/v1").removeprefix("/").partition("/")[0]
    return request.path == "/" or first in PUBLIC
