"""Banned networks, and rate limits of the HTTP layer: fixed windows, counted by account and by network address.

Guesses (passwords, invite codes, sign-ups) are counted in PostgreSQL: all web processes share the count, and it
survives a restart. `take` is one atomic statement, so two requests at once cannot both be the last allowed request.
Floods (pages and API calls) are counted in the memory of each process, up to its share of the limit: the count must
cost less than the request, and must work while the database or the broker does not. submissions/quota.py counts a
competitor's submissions.
"""

import hashlib
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from threading import Lock
from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.db import connection
from django.db.models import F
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.crypto import constant_time_compare, salted_hmac
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from leaderboard.accounts.models import User
from leaderboard.errors import RateLimited, error_body
from leaderboard.operations import bans
from leaderboard.web.middleware import APIS, Respond, refuse
from leaderboard.web.models import RequestCount


@dataclass(frozen=True)
class Limit:
    """At most `most` requests of this kind in each window of `window_s` seconds, for each key."""

    kind: str
    most: int
    window_s: int


Try = tuple[Limit, str]  # a limit, and the key that a request counts under

SIGN_IN_HERE: Final = Limit("sign-in name+ip", 10, 900)
SIGN_IN_BESIEGED: Final = Limit("sign-in name+ip besieged", 3, 900)  # while strangers guess at the name everywhere
SIGN_IN_DEVICE: Final = Limit("sign-in name+device", 10, 900)
SIGN_IN_IP: Final = Limit("sign-in ip", 100, 900)
SIGN_IN_NAME: Final = Limit("sign-in name", 200, 900)  # refuses no request: beyond it, the name is besieged
LINK_USER: Final = Limit("link user", 10, 900)
PASSWORD_USER: Final = Limit("change password user", 10, 900)
CODE_DEVICE: Final = Limit("second factor name+device", 10, 900)
CODE_STRANGERS: Final = Limit("second factor name", 20, 900)  # of all devices that the account does not know
PASSKEY_IP: Final = Limit("passkey ip", 100, 900)
PROVIDER_IP: Final = Limit("provider ip", 100, 900)  # each return from a provider makes the site ask there
SIGN_UP_IP: Final = Limit("sign-up ip", 30, 3600)
MAIL_TO: Final = Limit("mail to", 5, 3600)  # of mails that anybody can have sent
MAIL_IP: Final = Limit("mail ip", 30, 3600)
MAIL_USER: Final = Limit("mail user", 20, 3600)
EXPORT_USER: Final = Limit("export user", 5, 3600)
INVITE_USER: Final = Limit("invite code user", 20, 3600)
INVITE_IP: Final = Limit("invite code ip", 600, 3600)  # a lecture hall behind one address
DEVICE_IP: Final = Limit("device sign-in ip", 120, 3600)  # a lecture hall installs the command
DEVICE_USER: Final = Limit("device code user", 30, 3600)
TEAM_USER: Final = Limit("team user", 120, 3600)
RUNNER: Final = Limit("runner", 1200, 60)
RUNNER_GUESS_IP: Final = Limit("runner token ip", 60, 60)  # counts refused tokens only
ENROL_IP: Final = Limit("enrol ip", 30, 900)
# In memory. A class room behind one address: 40 people who turn a page every two seconds.
ANY_IP: Final = Limit("any ip", 3000, 60)
PAGE_USER: Final = Limit("page user", 300, 60)
PAGE_IP: Final = Limit("page ip", 1200, 60)  # of requests without a sign-in
POST_USER: Final = Limit("post user", 120, 60)
POST_IP: Final = Limit("post ip", 600, 60)
API_USER: Final = Limit("api user", 600, 60)
API_IP: Final = Limit("api ip", 240, 60)
STREAM_USER: Final = Limit("stream user", 240, 60)  # a program that sends tests back to back opens one a second
HOOK_USER: Final = Limit("webhook test user", 10, 3600)
SYNTAX_USER: Final = Limit("syntax check user", 60, 60)  # an editor asks every four seconds
PICTURE_IP: Final = Limit("picture ip", 120, 60)  # drawing one takes a tenth of a second
REPORT_USER: Final = Limit("report of a post user", 20, 86_400)
SEARCH_USER: Final = Limit("search user", 60, 60)
SEARCH_IP: Final = Limit("search ip", 120, 60)
REWARD_USER: Final = Limit("rewards user", 120, 60)  # the rules read up to 256 reports in a call
PARENTS_USER: Final = Limit("parents user", 60, 60)  # compares up to 300 kernels
DESK_SEARCH_USER: Final = Limit("desk search user", 60, 60)

WIDE: Final = 4  # a /48 of IPv6 may do this many times as much as a /64
OPEN_TO_BANNED: Final = ("/api/runner/", "/readyz", "/metrics")  # /healthz and /static/ are answered before
_KEYS_IN_MEMORY: Final = 50_000
_SMALLEST_SHARE: Final = 4  # a keep-alive connection stays with one process, which counts all its requests

DEVICE_COOKIE: Final = "known_device"
DEVICE_SALT: Final = "photofinish.device"
DEVICE_LASTS_S: Final = 365 * 86_400
MOST_LOGINS: Final = 5  # on one device; the oldest sign-in is dropped first

COUNTED: Final = "photofinish.counted"  # in request.META: the limits that a call of the API counted under

_UPSERT: Final = """
    INSERT INTO web_requestcount AS old (key, window_starts_at, count) VALUES (%s, %s, 1)
    ON CONFLICT (key) DO UPDATE SET
        count = CASE WHEN old.window_starts_at = EXCLUDED.window_starts_at THEN old.count + 1 ELSE 1 END,
        window_starts_at = EXCLUDED.window_starts_at
    RETURNING count
"""


def take(limit: Limit, key: str) -> int | None:
    """Count a request in PostgreSQL. Return None if it is allowed, else the seconds until the window ends."""
    now = timezone.now()
    start = _window_start(limit, now)
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT, [_row_key(limit, key), start])
        (count,) = cursor.fetchone()
    return None if count <= limit.most else _seconds_left(limit, now.timestamp())


def take_each(*tries: Try) -> int | None:
    """Count a request under each limit in turn, until a limit refuses. Return None or the seconds to wait.

    A refused request must not use up the later limits. Otherwise a single caller could close a limit that many share.
    """
    return next((wait for limit, key in tries if (wait := take(limit, key))), None)


def give_back(*tries: Try) -> None:
    """Take a request off these counts, because it was no wrong guess."""
    for limit, key in tries:
        rows = RequestCount.objects.filter(key=_row_key(limit, key), count__gt=0)
        rows.filter(window_starts_at=_window_start(limit, timezone.now())).update(count=F("count") - 1)


def forget(limit: Limit, key: str) -> None:
    """Reset the count of this key."""
    RequestCount.objects.filter(key=_row_key(limit, key)).delete()


def is_spent(limit: Limit, key: str) -> bool:
    """Return whether the count has reached its limit. Counts no request."""
    start = _window_start(limit, timezone.now())
    spent = RequestCount.objects.filter(key=_row_key(limit, key), window_starts_at=start, count__gte=limit.most)
    return spent.exists()


def check_code_tries(user_pk: int, request: HttpRequest | Request) -> None:
    """Count an attempt to use an invite code. Call it before the look-up. Raises RateLimited."""
    if wait := take_each((INVITE_USER, str(user_pk)), *by_address(INVITE_IP, request)):
        raise RateLimited("code", "", f"too many codes were tried; wait {minutes(wait)}", retry_after_s=wait)


def check_team_acts(account: int, act: str) -> None:
    """Count a change of a person's team or entry, over all logins of the account. Raises RateLimited."""
    if wait := take(TEAM_USER, str(account)):
        problem = f"you changed your entries more than {TEAM_USER.most} times in an hour; wait {minutes(wait)}"
        raise RateLimited("act", act, problem, retry_after_s=wait)


@dataclass(frozen=True)
class PasswordTry:
    """A guess at the password of a name, with the limits that it counts under."""

    counted: tuple[Try, ...]
    wait_s: int | None

    def was_right(self) -> None:
        """Reset the first count, and take this guess off the rest."""
        forget(*self.counted[0])
        give_back(*self.counted[1:])


def count_try(request: HttpRequest, username: str, *first: Try) -> PasswordTry:
    """Count a guess at a password under `first`, and then by device or by address, until a limit refuses.

    Guesses from elsewhere cannot lock an owner out of an account, and only wrong passwords count. A known device
    carries a signed cookie from an earlier sign-in to this login. It has its own count, which no stranger's guesses
    reach. From every other device a name has ten tries per address. A name attacked from many addresses is besieged,
    and each address then has three tries. The right owner can therefore still sign in on a new device, and guesses
    grow with the number of addresses alone. `wait_s` of the result is None unless the guess is refused.
    """
    # The name as Django's form reads it; without this ａｄａ gets ten more tries.
    name = User.normalize_username(username.strip()).lower()
    if device := _device_of(request, name):
        tries = (*first, (SIGN_IN_DEVICE, f"{name} {device}"))
        return PasswordTry(tries, take_each(*tries))
    besieged = is_spent(SIGN_IN_NAME, name)
    here = SIGN_IN_BESIEGED if besieged else SIGN_IN_HERE
    tries = (*first, (here, f"{name} {address(request)}"), *by_address(SIGN_IN_IP, request))
    wait_s = take_each(*tries)
    if wait_s is None:
        take(SIGN_IN_NAME, name)
    return PasswordTry((*tries, (SIGN_IN_NAME, name)), wait_s)


def count_code(request: HttpRequest, account: User) -> PasswordTry:
    """Count a guess at the second factor of somebody who knows the password.

    A known device has its own count, as for passwords: a thief of the password does not lock its owner out.
    """
    name = account.get_username().lower()
    device = _device_of(request, name)
    tried = (CODE_DEVICE, f"{name} {device}") if device else (CODE_STRANGERS, name)
    return PasswordTry((tried,), take(*tried))


def remember_device(request: HttpRequest, response: HttpResponse, login: User) -> None:
    """Make this device known for the login. Call it after a correct password."""
    known = [entry for entry in _devices(request) if entry[0] != login.pk][: MOST_LOGINS - 1]
    known.insert(0, [login.pk, secrets.token_hex(8), _fingerprint(login)])
    response.set_cookie(
        DEVICE_COOKIE,
        signing.dumps(known, salt=DEVICE_SALT),
        max_age=DEVICE_LASTS_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _device_of(request: HttpRequest, name: str) -> str:
    """Return the device's id if it is known for this name and the password has not changed since, else ""."""
    known = {pk: (device, fingerprint) for pk, device, fingerprint in _devices(request)}
    for login in User.objects.filter(pk__in=known) if known else ():
        device, fingerprint = known[login.pk]
        if login.get_username().lower() == name and constant_time_compare(fingerprint, _fingerprint(login)):
            return str(device)
    return ""


def _devices(request: HttpRequest) -> list[Any]:
    try:
        return list(signing.loads(request.COOKIES.get(DEVICE_COOKIE, ""), salt=DEVICE_SALT, max_age=DEVICE_LASTS_S))
    except signing.BadSignature:
        return []


def _fingerprint(login: User) -> str:
    return salted_hmac(DEVICE_SALT, login.password, algorithm="sha256").hexdigest()[:16]


def networks(address: str) -> tuple[str, ...]:
    """Return the networks that an address counts as: itself for IPv4, its /64 and its /48 for IPv6.

    An owner of an IPv6 address has a whole /64. Text that is no address counts as itself.
    """
    try:
        peer: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    except ValueError:
        return (address or "unknown",)
    if isinstance(peer, IPv6Address):
        if peer.ipv4_mapped is None:
            return tuple(str(ip_network((peer, size), strict=False)) for size in (64, 48))
        peer = peer.ipv4_mapped
    return (str(peer),)


def address(request: HttpRequest | Request) -> str:
    """Return the narrowest network of the client. asgi.py takes its address from TRUSTED_PROXIES alone."""
    return networks(str(request.META.get("REMOTE_ADDR") or ""))[0]


def by_address(limit: Limit, request: HttpRequest | Request) -> tuple[Try, ...]:
    """Return the limit for each network of the peer. Every limit by address is counted through this function."""
    narrow, *wide = networks(str(request.META.get("REMOTE_ADDR") or ""))
    slower = Limit(f"{limit.kind} wide", limit.most * WIDE, limit.window_s)
    return ((limit, narrow), *((slower, network) for network in wide))


def minutes(seconds: int) -> str:
    count = -(-seconds // 60)
    return f"{count} minute{'s'[: count > 1]}"


def share(most: int) -> int:
    """Return this process's part of a limit that the web processes of a host hold together, each by its own count."""
    return -(-most // min(settings.WEB_PROCESSES, _SMALLEST_SHARE))


class MemoryCounts:
    """Counts of this process. Beyond _KEYS_IN_MEMORY, the least recently used keys are dropped."""

    def __init__(self) -> None:
        self._counts: OrderedDict[tuple[str, str], tuple[int, int]] = OrderedDict()  # key → window, count
        self._lock = Lock()

    def take(self, *tries: Try) -> int | None:
        """Count a request, with the same result as `take_each`."""
        now_s = time.time()
        with self._lock:
            for limit, key in tries:
                window = int(now_s // limit.window_s)
                known, count = self._counts.pop((limit.kind, key), (window, 0))
                count = count + 1 if known == window else 1
                self._counts[limit.kind, key] = (window, count)
                if len(self._counts) > _KEYS_IN_MEMORY:
                    self._counts.popitem(last=False)
                if count > share(limit.most):
                    return _seconds_left(limit, now_s)
        return None

    def left(self, *tries: Try) -> tuple[int, int, int]:
        """Return the limit that is nearest to its end: its size, the requests left of it, the seconds of its window."""
        now_s = time.time()
        found = []
        with self._lock:
            for limit, key in tries:
                window, count = self._counts.get((limit.kind, key), (0, 0))
                used = count if window == int(now_s // limit.window_s) else 0
                most = share(limit.most)
                found.append((most, max(0, most - used), _seconds_left(limit, now_s)))
        return min(found, key=lambda level: level[1])

    def clear(self) -> None:
        with self._lock:
            self._counts.clear()


floods: Final = MemoryCounts()


def banned_networks(get_response: Respond) -> Respond:
    """Refuse requests from banned networks. Stands before the sessions, and asks no database."""

    def respond(request: HttpRequest) -> HttpResponseBase:
        ban = bans.of(str(request.META.get("REMOTE_ADDR") or ""), timezone.now())
        if ban is None or request.path.startswith(OPEN_TO_BANNED):
            return get_response(request)
        if request.path.startswith(APIS):
            detail = f"Your network {ban.network} is banned until {ban.ends_at:%Y-%m-%d %H:%M} UTC: {ban.reason}"
            return JsonResponse(error_body(403, detail, "network_banned"), status=403)
        return HttpResponse(render_to_string("web/banned.html", {"ban": ban}), status=403)

    return respond


def page_limits(get_response: Respond) -> Respond:
    """Limit pages and acts a minute, by account for signed-in users, else by address.

    Stands behind the authentication. The APIs have ApiThrottle, and the runners' API has no such limit.
    """

    def respond(request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(APIS):
            return get_response(request)
        is_act = request.method not in ("GET", "HEAD", "OPTIONS")
        if request.user.is_authenticated:
            wait = floods.take((POST_USER if is_act else PAGE_USER, str(request.user.pk)))
        else:
            wait = floods.take(*by_address(POST_IP if is_act else PAGE_IP, request))
        return get_response(request) if wait is None else refuse(request.path, 429, wait)

    return respond


class ApiThrottle(BaseThrottle):
    """The API's limit: by user if the caller is known, else by address."""

    def __init__(self) -> None:
        self._wait_s: int | None = None

    def allow_request(self, request: Request, view: object) -> bool:
        if request.user.is_authenticated:
            tries: tuple[Try, ...] = ((API_USER, str(request.user.pk)),)
        else:
            tries = by_address(API_IP, request)
        self._wait_s = floods.take(*tries)
        request.META[COUNTED] = tries
        return self._wait_s is None

    def wait(self) -> float | None:
        return self._wait_s


def rate_headers(request: Request) -> dict[str, str]:
    """Return the rate of a counted call as headers: limit of the window, calls left, seconds until the window ends."""
    tries = request.META.get(COUNTED)
    if not tries:
        return {}
    most, left, seconds = floods.left(*tries)
    return {"RateLimit-Limit": str(most), "RateLimit-Remaining": str(left), "RateLimit-Reset": str(seconds)}


def _window_start(limit: Limit, now: datetime) -> datetime:
    return datetime.fromtimestamp(now.timestamp() // limit.window_s * limit.window_s, UTC)


def _seconds_left(limit: Limit, now_s: float) -> int:
    return max(1, int(limit.window_s - now_s % limit.window_s) + 1)


def _row_key(limit: Limit, key: str) -> str:
    return f"{limit.kind}:{hashlib.sha256(key.encode()).hexdigest()[:32]}"
