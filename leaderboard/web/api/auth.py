"""Authentication of API callers: a Bearer token with scopes, or the session of the site's own pages, then with CSRF."""

from __future__ import annotations

from typing import Any, Final

from asgiref.sync import sync_to_async
from django.http import HttpRequest
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.tokens import find_token

SCHEME: Final = "bearer "
UNKNOWN: Final = "This token is unknown or revoked. Create one at /tokens."
NOBODY: Final = "Say who you are: “Authorization: Bearer pf_…” with a token from /tokens, or sign in."


class Refused(Exception):
    """Unknown caller (401) or missing permission (403), with a sentence, for views outside of DRF."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class BearerAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        text = bearer_of(request.headers.get("Authorization", ""))
        if text is None:
            return None
        token = find_token(text, now=timezone.now())
        if token is None:
            raise AuthenticationFailed(UNKNOWN)
        return token.account, token

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

    def has_permission(self, request: Request, view: APIView) -> bool:
        by_method = "read" if request.method in ("GET", "HEAD", "OPTIONS") else "submit"
        needed = getattr(view, "scope", by_method)
        self.message = f"This token has not the scope “{needed}”. Create another one at /tokens."
        return not isinstance(request.auth, ApiToken) or needed in request.auth.scopes


async def reader_of(request: HttpRequest) -> User:
    """Return the user behind a plain request, if the caller may read.

    Raises Refused.
    """
    text = bearer_of(request.headers.get("Authorization", ""))
    if text is None:
        user = await request.auser()
        if not isinstance(user, User):
            raise Refused(401, NOBODY)
        return user
    token = await sync_to_async(find_token)(text, now=timezone.now())
    if token is None:
        raise Refused(401, UNKNOWN)
    if "read" not in token.scopes:
        raise Refused(403, "This token has not the scope “read”. Create another one at /tokens.")
    return token.account


def bearer_of(header: str) -> str | None:
    return header[len(SCHEME) :].strip() if header.lower().startswith(SCHEME) else None
