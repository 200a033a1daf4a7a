"""Answers that need neither database nor view: too many requests, no place free, the wrong method."""

from __future__ import annotations

from functools import cache
from typing import Final

from django.http import HttpResponse, JsonResponse
from django.template.loader import render_to_string

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
