"""Middleware for every answer: security headers, caching, and pages of refusal.

The content policy lets a page load only the site's own files: no inline script or style, no other host, no frame. A
competitor's text can therefore never run in another user's browser, even if a template forgot to escape it.
"""

import hashlib
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponsePermanentRedirect,
    JsonResponse,
)
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.utils.encoding import escape_uri_path
from django.utils.http import escape_leading_slashes

from leaderboard.errors import RateLimited, UserError, error_body

FORMS_HERE: Final = "form-action 'self'"
CSP: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "font-src 'self'",
        "connect-src 'self'",
        FORMS_HERE,
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": CSP,
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
APIS: Final = ("/api/", "/popcorn/")  # their errors are JSON, and they count their own calls
PRIVATE: Final = "private, no-store"
PUBLIC_S: Final = 10
PUBLIC: Final = (
    "boards",
    "competitions",
    "collections",
    "datasets",
    "docs",
    "entries",
    "status",
)  # at the top, and below /api/v1
REFUSED: Final = {
    429: "Too many requests. Try again in {wait} s.",
    503: "The site is busy. Nothing was done; try again in {wait} s.",
}

Respond = Callable[[HttpRequest], HttpResponseBase]


def security_headers(get_response: Respond) -> Respond:
    """Set HEADERS. Pages are private to a browser unless the view sets Cache-Control."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        if not request.path.startswith("/static/"):
            response.headers.setdefault("Cache-Control", PRIVATE)
        return response

    return respond


def allow_forms_to(response: HttpResponseBase, origins: Iterable[str]) -> None:
    """Let forms of this page lead to other sites: a browser checks the redirect after a form as well."""
    response["Content-Security-Policy"] = CSP.replace(FORMS_HERE, " ".join((FORMS_HERE, *sorted(origins))))


def conditional_answers(get_response: Respond) -> Respond:
    """Set ETag and Cache-Control, and answer 304 to current copies. Stands outside of the sessions.

    The ETag is a digest of the content, so it is right for every cause of a change. An answer is public only if the
    request names no user: neither cookie nor token. A cache then answers a crowd, at most PUBLIC_S late.
    """

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if request.method not in ("GET", "HEAD") or response.status_code != 200:
            return response
        if not isinstance(response, HttpResponse) or request.path.startswith("/static/"):
            return response
        names_a_user = bool(request.COOKIES) or "Authorization" in request.headers or bool(response.cookies)
        first = request.path.removeprefix("/api/v1").removeprefix("/").partition("/")[0]
        if (request.path == "/" or first in PUBLIC) and not names_a_user and "Cache-Control" not in response.headers:
            response.headers["Cache-Control"] = f"public, max-age={PUBLIC_S}"
            patch_vary_headers(response, ("Cookie", "Authorization"))
        etag = f'"{hashlib.sha256(response.content).hexdigest()[:32]}"'
        response.headers["ETag"] = etag
        return get_conditional_response(request, etag=etag, response=response) or response

    return respond


def refuse(path: str, status: int, retry_after_s: int) -> HttpResponse:
    """Return a refusal with the time of the next try: a page for people, JSON of the APIs. Needs no database."""
    response: HttpResponse
    if path.startswith(APIS):
        response = JsonResponse(error_body(status, REFUSED[status].format(wait=retry_after_s)), status=status)
    else:
        response = HttpResponse(refusal_page(status), status=status)
    for name, value in (HEADERS | {"Cache-Control": PRIVATE, "Retry-After": str(retry_after_s)}).items():
        response.headers[name] = value
    return response


def with_wait(response: HttpResponse, error: UserError) -> HttpResponse:
    """Name the time of the next try in the header of a page that a rate limit refuses."""
    if isinstance(error, RateLimited):
        response["Retry-After"] = str(error.retry_after_s)
    return response


@cache
def refusal_page(status: int) -> str:
    """Return a page of refusal, rendered once, because these pages are requested under load."""
    return render_to_string(f"{status}.html")


def plain_addresses(get_response: Respond) -> Respond:
    """Answer 404 to an address with a NUL, which is in no name and which PostgreSQL refuses."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        if "\x00" not in request.path or request.path.startswith("/popcorn/"):  # it has its own words for it
            return get_response(request)
        if request.path.startswith(APIS):
            return JsonResponse(error_body(404, "This does not exist: no address has a NUL."), status=404)
        raise Http404

    return respond


def pages_without_slash(get_response: Respond) -> Respond:
    """Redirect from a page's address with a slash at its end, which people type and paste, to the page.

    Only an answer 404 is replaced: the pages of Django's administration have slashes of their own.
    """

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        path = request.path.removesuffix("/")
        if response.status_code != 404 or path == request.path or request.path.startswith(APIS):
            return response
        if request.method not in ("GET", "HEAD"):
            return response
        try:
            resolve(path)
        except Resolver404:
            return response
        query = request.META.get("QUERY_STRING", "")
        address = escape_leading_slashes(escape_uri_path(path))  # two slashes would lead to another host
        return HttpResponsePermanentRedirect(f"{address}?{query}" if query else address)

    return respond


def form_only_pages(get_response: Respond) -> Respond:
    """Answer a GET of a form-only address with a page and a way out, not with an empty 405.

    Stands behind the authentication, so that the page shows the signed-in user.
    """

    def respond(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if response.status_code != 405 or request.path.startswith(APIS) or not isinstance(response, HttpResponse):
            return response
        page = HttpResponse(render_to_string("405.html", {"back": page_above(request.path)}, request), status=405)
        page.headers["Allow"] = response.headers.get("Allow", "POST")
        return page

    return respond


def page_above(path: str) -> str:
    """Return the nearest page above that needs no name or number, so that the answer repeats no part of the request."""
    while path := path.rpartition("/")[0]:
        try:
            found = resolve(path)
        except Resolver404:
            continue
        if not found.kwargs:
            return path
    return "/"
