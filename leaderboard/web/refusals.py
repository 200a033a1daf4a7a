"""Refusals as pages for people: too many requests, no free place, a GET of a form-only address.

The first two pages need no database.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve

from leaderboard.errors import RateLimited, UserError
from leaderboard.web.middleware import HEADERS

_DETAILS: Final = {
    429: "Too many requests. Try again in {wait} s.",
    503: "The site is busy. Nothing was done; try again in {wait} s.",
}


def refuse(path: str, status: int, retry_after_s: int) -> HttpResponse:
    """Return a refusal with the time of the next try: a page for people, JSON below /api/."""
    response: HttpResponse
    if path.startswith("/api/"):
        response = JsonResponse({"detail": _DETAILS[status].format(wait=retry_after_s), "errors": []}, status=status)
    else:
        response = HttpResponse(_page(status), status=status)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers["Cache-Control"] = "private, no-store"
    response.headers["Retry-After"] = str(retry_after_s)
    return response


def with_wait(response: HttpResponse, error: UserError) -> HttpResponse:
    """Name the time of the next try in the header of a page that a rate limit refuses."""
    if isinstance(error, RateLimited):
        response["Retry-After"] = str(error.retry_after_s)
    return response


@cache
def _page(status: int) -> str:
    """Return a page of refusal, rendered once, because these pages are requested under load."""
    return render_to_string(f"{status}.html")


class FormsOnly:
    """Middleware that answers a GET of a form-only address with a page and a way out, not with an empty 405.

    It stands behind the authentication, so that the page shows the signed-in user.
    """

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self._get_response(request)
        if response.status_code != 405 or request.path.startswith("/api/") or not isinstance(response, HttpResponse):
            return response
        page = HttpResponse(render_to_string("405.html", {"back": _page_above(request.path)}, request), status=405)
        page.headers["Allow"] = response.headers.get("Allow", "POST")
        return page


def _page_above(path: str) -> str:
    """Return the nearest page above that needs no name or number, so that the answer repeats no part of the request."""
    while path := path.rpartition("/")[0]:
        try:
            found = resolve(path)
        except Resolver404:
            continue
        if not found.kwargs:
            return path
    return "/"
