"""Shared parts of /api/v1: callers and their scopes, bounded JSON bodies, paging, and views of acts.

A caller is known by a Bearer token with scopes, or by the session of the site's own pages, then with CSRF.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import IO, Any, Final, NoReturn

from asgiref.sync import sync_to_async
from django.db.models import QuerySet
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import serializers as drf
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, ParseError, PermissionDenied
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.permissions import SAFE_METHODS, BasePermission, IsAuthenticated
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BaseSerializer, Serializer
from rest_framework.views import APIView

from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.permissions import check_staff, lacks_second_factor
from leaderboard.accounts.tokens import find_token
from leaderboard.competitions.models import Competition, Role
from leaderboard.competitions.permissions import check_role, competitions_of
from leaderboard.dataset import parquet
from leaderboard.errors import UserError
from leaderboard.web.limits import ApiThrottle, rate_headers
from leaderboard.web.paging import Page, page_of, page_of_list
from leaderboard.wording.spreadsheet import csv_lines

LIMIT_BYTES: Final = 3_000_000  # 1 MB of source, with every quote and newline escaped, and some air
SCHEME: Final = "bearer "
MOST_NAME_CHARS: Final = 64  # of an unknown parameter in an error
SCOPE: Final = "review"  # of organisers and administrators
PARQUET_KINDS: Final[dict[type, str]] = {
    drf.BooleanField: parquet.TRUTH,
    drf.IntegerField: parquet.WHOLE,
    drf.FloatField: parquet.REAL,
    drf.DateTimeField: parquet.TIME,
}
UNKNOWN: Final = "This token is unknown, expired or revoked. Create a new token at /tokens."
NO_FACTOR: Final = "Administrators of this site need a second factor. Set it up at /account/second-factor."
NO_SCOPE: Final = "This token lacks the scope “{}”. Create another token at /tokens."
NOBODY: Final = "Sign in, or send “Authorization: Bearer pf_…” with a token from /tokens."


class BearerAuthentication(BaseAuthentication):
    unknown = UNKNOWN

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        text = self.token_text(request)
        if text is None:
            return None
        token = find_token(text, now=timezone.now())
        if token is None:
            raise AuthenticationFailed(self.unknown, "token_invalid")
        _check_second_factor(token.account)
        return token.account, token

    def token_text(self, request: Request) -> str | None:
        """Return the token of the request, or None if it has none."""
        return bearer_of(request.headers.get("Authorization", ""))

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="photofinish"'


class BearerScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    target_class = BearerAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:
        return {"type": "http", "scheme": "bearer", "description": "A token from /tokens."}


class HasScope(BasePermission):
    """Permission by token scope: `read` for safe methods, `submit` for the rest.

    A session may do everything that its user may. A view with its own `scope` requires that scope for every method.
    """

    code = "scope_missing"

    def has_permission(self, request: Request, view: APIView) -> bool:
        by_method = "read" if request.method in ("GET", "HEAD", "OPTIONS") else "submit"
        needed = getattr(view, "scope", by_method)
        self.message = NO_SCOPE.format(needed)
        return not isinstance(request.auth, ApiToken) or needed in request.auth.scopes


async def reader_of(request: HttpRequest) -> User:
    """Return the user behind a plain request, if the caller may read. Raises APIException (401, 403)."""
    text = bearer_of(request.headers.get("Authorization", ""))
    if text is None:
        user = await request.auser()
        if not isinstance(user, User):
            raise NotAuthenticated(NOBODY)
        return user
    token = await sync_to_async(find_token)(text, now=timezone.now())
    if token is None:
        raise AuthenticationFailed(UNKNOWN, "token_invalid")
    await sync_to_async(_check_second_factor)(token.account)
    if "read" not in token.scopes:
        raise PermissionDenied(NO_SCOPE.format("read"), "scope_missing")
    return token.account


def _check_second_factor(account: User) -> None:
    if lacks_second_factor(account):
        raise PermissionDenied(NO_FACTOR, "second_factor_missing")


def bearer_of(header: str) -> str | None:
    return header[len(SCHEME) :].strip() if header.lower().startswith(SCHEME) else None


class BoundedJSON(BaseParser):
    """JSON bodies within a size limit. DRF's own parser reads bodies of any size and dies of deep nesting."""

    media_type = "application/json"
    limit_bytes = LIMIT_BYTES
    too_large = "too large; a source file may have 1,000,000 bytes"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        raw = stream.read(self.limit_bytes + 1)
        if len(raw) > self.limit_bytes:
            raise UserError("body", None, self.too_large, status=413)
        try:
            return json.loads(raw.decode("utf-8"), parse_constant=refuse_constant)
        except (ValueError, RecursionError) as error:
            raise ParseError(f"not JSON: {str(error)[:200]}") from None


class ShortList(drf.ListField):
    """A list whose length is checked before its elements. The framework checks millions of elements first."""

    def run_child_validation(self, data: Any) -> Any:
        assert self.max_length is not None
        if len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().run_child_validation(data)


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


class CsvRenderer(BaseRenderer):
    """A list as CSV, for `Accept: text/csv` or `?format=csv`. Lists and objects in a cell are JSON."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        rows = [data] if isinstance(data, dict) else data or []
        shape = getattr(data, "serializer", None)
        names = list(rows[0]) if rows else list(getattr(getattr(shape, "child", None), "fields", ()))
        return csv_lines([names, *([row[name] for name in names] for row in rows)]).encode()


class ParquetRenderer(BaseRenderer):
    """A list as Parquet, for `?format=parquet`. Lists and objects in a cell are JSON."""

    media_type = parquet.MEDIA_TYPE
    format = "parquet"
    charset = None
    render_style = "binary"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        fields = data.serializer.child.fields
        meanings = {name: str(field.help_text or "") for name, field in fields.items()}
        kinds = {
            name: next((kind for shape, kind in PARQUET_KINDS.items() if isinstance(field, shape)), parquet.TEXT)
            for name, field in fields.items()
        }
        writer = parquet.Writer(kinds, meanings)
        rows = [[row[name] for name in fields] for row in data]
        return (writer.group(rows) if rows else b"") + writer.end()


class PlainText(BaseRenderer):
    media_type = "text/plain"
    format = "text"
    charset = "utf-8"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return str(data).encode()


class Octets(BaseRenderer):
    """Bytes of a stranger, which no browser interprets."""

    media_type = "application/octet-stream"
    format = "bin"

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return bytes(data)


class Negotiation(DefaultContentNegotiation):
    """DRF's choice by `Accept` or `?format=`, where an unknown format is a wrong field."""

    def filter_renderers(self, renderers: Any, format: str) -> Any:
        found = [renderer for renderer in renderers if renderer.format == format]
        if not found:
            known = ", ".join(renderer.format for renderer in renderers)
            raise UserError("format", format, f"this call answers as {known}")
        return found

    def select_renderer(self, request: Any, renderers: Any, format_suffix: Any = None) -> Any:
        here = [renderer for renderer in renderers if parquet.IS_INSTALLED or renderer.format != ParquetRenderer.format]
        return super().select_renderer(request, here, format_suffix)


class FirstAlways(DefaultContentNegotiation):
    """The view's first renderer, whatever the caller accepts."""

    def select_renderer(self, request: Any, renderers: Any, format_suffix: str | None = None) -> Any:
        return renderers[0], renderers[0].media_type


# Of a view whose list may be a table.
AS_TABLE: Final[list[type[BaseRenderer]]] = [JSONRenderer, CsvRenderer, ParquetRenderer]


class Public(APIView):
    """Base of views that everybody may read. Calls are counted by user if the caller is signed in, else by address."""

    authentication_classes = [BearerAuthentication, SessionAuthentication]
    permission_classes = [HasScope]
    throttle_classes = [ApiThrottle]
    content_negotiation_class: type[DefaultContentNegotiation] = Negotiation
    parser_classes: list[type[BaseParser]] = [BoundedJSON]
    has_any_query = False  # whether unknown parameters of the query are ignored

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if request.query_params and not self.has_any_query:
            check_query(self, request)

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        answer: Response = super().finalize_response(request, response, *args, **kwargs)
        for name, value in rate_headers(request).items():
            answer.headers[name] = value
        if answer.status_code >= 400 and isinstance(answer, Response):  # errors are JSON, whatever was asked for
            answer.accepted_renderer, answer.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return answer


class Private(Public):
    permission_classes = [IsAuthenticated, HasScope]

    @staticmethod
    def caller(request: Request) -> User:
        assert isinstance(request.user, User)  # IsAuthenticated checks it
        return request.user

    @staticmethod
    def token(request: Request) -> ApiToken | None:
        """Return the token of the request; None: it comes from a session."""
        return request.auth if isinstance(request.auth, ApiToken) else None

    def by(self, request: Request) -> dict[str, Any]:
        """Return the caller and the time, as acts take them."""
        return {"actor": self.caller(request), "now": timezone.now()}


class Staff(Private):
    """Base of the views of administrators. `doing` completes “only an organiser of this site may”."""

    scope = SCOPE
    doing: str

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        check_staff(self.caller(request), self.doing)


class Owners(Private):
    """Base of the views of a competition: every role reads, owners change. People without a role in it get a 404."""

    scope = SCOPE

    def competition(self, request: Request, slug: str, act: str = "", least: str = Role.OWNER) -> Competition:
        """Return the competition. `least`: the lowest role for `act`, if the call changes it; else a 403."""
        user = self.caller(request)
        found = get_object_or_404(competitions_of(user), slug=slug)
        if request.method not in SAFE_METHODS:
            check_role(user, found, least, act)
        return found


Shape = type[BaseSerializer[Any]]

_parameters: Final[dict[tuple[type[APIView], str], frozenset[str]]] = {}


def check_query(view: APIView, request: Request) -> None:
    """Refuse a parameter that the call does not have: a slip of the pen would change the answer silently."""
    method = str(request.method)
    schema = getattr(getattr(view, method.lower(), None), "kwargs", {}).get("schema")
    if schema is None:  # no call: the answer is a 405
        return
    known = _parameters.get((type(view), method))
    if known is None:
        described = schema()
        described.view, described.method = view, method
        known = _parameters[type(view), method] = _query_of(described.get_override_parameters())
    for name, value in request.query_params.items():
        if name not in known and name not in ("format", "offset"):  # each has its own check
            near = get_close_matches(name, known, 1)
            names = ", ".join(sorted(known)) or "none"
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UserError(name[:MOST_NAME_CHARS], value, f"this call has no such parameter, it takes {names}{hint}")


def _query_of(parameters: Iterable[Any]) -> frozenset[str]:
    """Return the names of the query's parameters, from the description of a call."""
    names: set[str] = set()
    for one in parameters:
        if isinstance(one, OpenApiParameter):
            names |= {one.name} if one.location == OpenApiParameter.QUERY else set()
        else:
            names |= set((one() if isinstance(one, type) else one).fields)
    return frozenset(names)


def parse(shape: Shape | None, data: Any) -> dict[str, Any]:
    """Return the valid data of a request; a None shape has no fields. ValidationError names each wrong field."""
    form = (shape or Serializer)(data=data)
    form.is_valid(raise_exception=True)
    valid: dict[str, Any] = form.validated_data
    return valid


def cut(
    request: Request, found: Sequence[Any], query: Mapping[str, Any], shape: Shape, key: Callable[[Any], object]
) -> Response:
    """Answer with the part of a list in memory that `limit` and `cursor` (or `offset`) name.

    `key`: of an item, unique.
    """
    place = {"cursor": query["cursor"], "size": query["limit"], "start": query.get("offset", 0)}
    page = page_of_list(found, key=key, name=request.path, **place)
    return Response(shape(page.rows, many=True).data, headers=links(request, page, len(found)))


def paged(
    request: Request,
    found: QuerySet[Any],
    query: Mapping[str, Any],
    shape: Shape,
    order: Sequence[str],
    prepare: Callable[[list[Any]], list[Any]] = list,
    **context: Any,
) -> Response:
    """Answer with the rows that `limit` and `cursor` name; the header Link has the addresses of the pages beside it.

    `prepare`: gathers the values that `shape` shows of the page's rows.
    """
    page = page_of(found, order=order, name=request.path, cursor=query["cursor"], size=query["limit"])
    return Response(shape(prepare(page.rows), many=True, context=context).data, headers=links(request, page))


def links(request: Request, page: Page, total: int | None = None) -> dict[str, str]:
    """Return the header Link with the addresses of the pages beside this page; X-Total-Count for a known length."""
    found = []
    for relation, cursor in (("prev", page.before), ("next", page.after)):
        if cursor:
            asked = request.query_params.copy()
            asked.pop("offset", None)
            asked["cursor"] = cursor
            found.append(f'<{request.path}?{asked.urlencode()}>; rel="{relation}"')
    length = {"X-Total-Count": str(total)} if total is not None else {}
    return length | ({"Link": ", ".join(found)} if found else {})


def act_view(
    base: type[APIView], operation: str, description: str, sent: Shape | None, answer: Any, **attributes: Any
) -> Any:
    """Return the view of an act: a subclass of `base`, which has the method `post`, with its own description."""
    described = extend_schema(operation_id=operation, description=description, request=sent, responses=answer)
    return extend_schema_view(post=described)(type(operation, (base,), attributes))
