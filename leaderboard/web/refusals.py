"""Refusals as pages for people: too many requests, no place free (neither needs the database), an address for forms."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve

from leaderboard.web.middleware import HEADERS

_DETAILS: Final = {
    429: "Too many requests. Try again in {wait} s.",
    503: "The site is busy. Nothing was done; try again in {wait} s.",
}


def refuse(path: str, status: int, retry_after_s: int) -> HttpResponse:
    """A page for people, JSON below /api/; both say when to try again."""
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


@cache
def _page(status: int) -> str:
    """Rendered once: these pages are asked for when there is no time to spare."""
    return render_to_string(f"{status}.html")


class FormsOnly:
    """Middleware: whoever opens an address that only takes a form gets a page with the way out, not an empty 405.

    Stands behind the authentication, so that the page knows who is signed in.
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
    """The nearest page above that needs no name or number: the answer repeats nothing of what was asked for."""
    while path := path.rpartition("/")[0]:
        try:
            found = resolve(path)
        except Resolver404:
            continue
        if not found.kwargs:
            return path
    return "/"
