"""How often one caller may knock: fixed windows, counted in PostgreSQL so that all web processes share one count.

`take` is one atomic statement: two requests at once cannot both be the last allowed one. What a competitor may *use*
(submissions an hour) is not here but in submissions/quota.py; this is about the door.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import connection
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from leaderboard.errors import RateLimited
from leaderboard.web.models import RequestCount


@dataclass(frozen=True)
class Limit:
    """At most `most` requests of this kind in each window of `window_s` seconds, for each key."""

    kind: str
    most: int
    window_s: int


SIGN_IN_HERE: Final = Limit("sign-in name+ip", 10, 900)
SIGN_IN_IP: Final = Limit("sign-in ip", 100, 900)
SIGN_IN_NAME: Final = Limit("sign-in name", 200, 900)  # generous: nobody may lock another one out cheaply
SIGN_UP_IP: Final = Limit("sign-up ip", 30, 3600)
INVITE_USER: Final = Limit("invite code user", 20, 3600)
INVITE_IP: Final = Limit("invite code ip", 100, 3600)
TEAM_USER: Final = Limit("team user", 120, 3600)
RUNNER: Final = Limit("runner", 1200, 60)
RUNNER_GUESS_IP: Final = Limit("runner token ip", 60, 60)  # counts tokens that are refused, and none that is good
API_USER: Final = Limit("api user", 600, 60)
API_IP: Final = Limit("api ip", 240, 60)

_KEPT: Final = timedelta(days=1)  # longer than any window

_UPSERT: Final = """
    INSERT INTO web_requestcount AS old (key, window_starts_at, count) VALUES (%s, %s, 1)
    ON CONFLICT (key) DO UPDATE SET
        count = CASE WHEN old.window_starts_at = EXCLUDED.window_starts_at THEN old.count + 1 ELSE 1 END,
        window_starts_at = EXCLUDED.window_starts_at
    RETURNING count
"""


def take(limit: Limit, who: str, now: datetime | None = None) -> int | None:
    """Count one request; None when it is allowed, else the seconds until the window ends."""
    now = now or timezone.now()
    start = datetime.fromtimestamp(now.timestamp() // limit.window_s * limit.window_s, UTC)
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT, [_key(limit, who), start])
        (count,) = cursor.fetchone()
    if count == 1:
        RequestCount.objects.filter(window_starts_at__lt=now - _KEPT).delete()
    if count <= limit.most:
        return None
    return max(1, int(start.timestamp() + limit.window_s - now.timestamp()) + 1)


def forget(limit: Limit, who: str) -> None:
    """Start over, for a caller who proved to be the right one."""
    RequestCount.objects.filter(key=_key(limit, who)).delete()


def check_code_tries(user_pk: int, request: HttpRequest | Request) -> None:
    """Before an invite code is looked up. Raises RateLimited."""
    tries = ((INVITE_USER, str(user_pk)), (INVITE_IP, address(request)))
    waits = [wait for limit, who in tries if (wait := take(limit, who))]
    if waits:
        told = f"too many codes were tried; wait {_minutes(max(waits))}"
        raise RateLimited("code", "", told, retry_after_s=max(waits))


def check_team_acts(account: int, act: str) -> None:
    """Before somebody changes their team or entry, by any of their logins. Raises RateLimited."""
    if wait := take(TEAM_USER, str(account)):
        told = f"you changed your entries more than {TEAM_USER.most} times in an hour; wait {_minutes(wait)}"
        raise RateLimited("act", act, told, retry_after_s=wait)


def address(request: HttpRequest | Request) -> str:
    """The peer's address; behind a proxy, uvicorn's --proxy-headers puts the client's there."""
    return str(request.META.get("REMOTE_ADDR") or "unknown")


def _minutes(seconds: int) -> str:
    minutes = -(-seconds // 60)
    return f"{minutes} minute{'s'[: minutes > 1]}"


def _key(limit: Limit, who: str) -> str:
    return f"{limit.kind}:{hashlib.sha256(who.encode()).hexdigest()[:32]}"


class ApiThrottle(BaseThrottle):
    """The API's door: by user where one is known, else by address."""

    def __init__(self) -> None:
        self._wait_s: int | None = None

    def allow_request(self, request: Request, view: object) -> bool:
        if request.user.is_authenticated:
            self._wait_s = take(API_USER, str(request.user.pk))
        else:
            self._wait_s = take(API_IP, address(request))
        return self._wait_s is None

    def wait(self) -> float | None:
        return self._wait_s
