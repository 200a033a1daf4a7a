"""Errors of the APIs in the shape of docs/http.md: a sentence, and the field, the value and the way out.

`handle` is DRF's exception handler. Only texts made for people leave here; a bug becomes a sentence without detail and
a traceback in the log.
"""

import logging
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from django.core.exceptions import PermissionDenied, RequestDataTooBig
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import set_rollback

from leaderboard.errors import BY_STATUS, CODES, StaleLease, UserError, error_body, shown

BUG: Final = "Internal error. It is in our log. Try again in a moment."
BUSY: Final = "The database did not answer in time, so nothing was changed. Try again in a moment."
RETRY_AFTER_S: Final = 5
MOST_ERRORS: Final = 256  # of an answer: one for each candidate of a batch
ASKED_AGAIN: Final = ("authorization_pending", "slow_down")  # answers to a device that polls every few seconds
STALE: Final = "The lease on this attempt is lost or the attempt is finished; stop working on it."

log = logging.getLogger(__name__)


def handle(exc: Exception, context: dict[str, Any]) -> Response:
    set_rollback()
    response = _answer(exc, context.get("request"))
    if getattr(exc, "code", "") in ASKED_AGAIN:
        response._has_been_logged = True  # type: ignore[attr-defined]  # Django's mark: not worth a warning
    if response.status_code >= 500:
        log.exception("unexpected error in %s", type(context.get("view")).__name__, exc_info=exc)
    return response


def _answer(exc: Exception, request: Request | None) -> Response:
    match exc:
        case UserError():
            return _later(Response(exc.as_json(), status=exc.status), getattr(exc, "retry_after_s", None))
        case OperationalError():
            return _later(body(503, BUSY), RETRY_AFTER_S)
        case StaleLease():
            return Response({"detail": STALE, "code": "stale"}, status=409)
        case exceptions.ValidationError():
            sent = getattr(request, "query_params" if getattr(request, "method", "") == "GET" else "data", None)
            known = sent if isinstance(sent, dict) else {}
            found = list(islice(_flat(exc.detail), MOST_ERRORS))
            errors = [
                {"field": field, "value": shown(known.get(field)), "message": message} for field, message in found
            ]
            detail = "; ".join(f"{field}: {message}".removeprefix(": ") for field, message in found)
            return Response({"detail": detail, "code": BY_STATUS[400], "errors": errors}, status=exc.status_code)
        case exceptions.Throttled():
            wait = max(1, int(getattr(exc, "wait", None) or 1))
            return _later(body(429, f"Too many requests. Try again in {wait} s."), wait)
        case exceptions.ParseError():
            return body(exc.status_code, f"The body could not be read: {exc.detail}", "body")
        case exceptions.APIException():
            detail = exc.detail if isinstance(exc.detail, str) else str(exc.default_detail)
            response = body(exc.status_code, detail, code=code_of(exc))
            if challenge := getattr(exc, "auth_header", None):
                response["WWW-Authenticate"] = challenge
            return response
        case Http404():
            return body(404, "This does not exist, or you have no access to it.")
        case PermissionDenied():
            return body(403, "Your role does not allow this.")
        case RequestDataTooBig():
            return body(413, "The request is too large; a source file may have 1,000,000 bytes.", "body")
    return body(500, BUG)


def body(status: int, detail: str, field: str = "", code: str = "") -> Response:
    errors = [{"field": field, "value": None, "message": detail}] if field else []
    return Response(error_body(status, detail, code) | {"errors": errors}, status=status)


def code_of(error: exceptions.APIException) -> str:
    """Return the code that this site gave an exception of DRF; "" for the code of its status."""
    found = getattr(error.detail, "code", "")
    return found if found in CODES else ""


def _later(response: Response, retry_after_s: int | None) -> Response:
    if retry_after_s is not None:
        response["Retry-After"] = str(retry_after_s)
    return response


def _flat(detail: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Yield the dotted name of each wrong field with its message."""
    if isinstance(detail, dict):
        for name, inner in detail.items():
            yield from _flat(inner, field if name == "non_field_errors" else f"{field}.{name}".removeprefix("."))
    elif isinstance(detail, list):
        for number, inner in enumerate(detail):
            yield from _flat(inner, f"{field}.{number}" if isinstance(inner, dict) else field)
    else:
        yield field, str(detail)
