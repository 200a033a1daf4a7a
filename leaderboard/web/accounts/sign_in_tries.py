"""Limits on password guesses. Guesses from elsewhere cannot lock an owner out of an account.

Only wrong passwords count, and each limit is asked in turn until a limit refuses. A known device carries a signed
cookie from an earlier sign-in to this login. It has its own count, which no stranger's guesses reach. From every other
device a name has ten tries per address. A name attacked from many addresses is besieged, and each address then has
three tries. The right owner can therefore still sign in on a new device, and guesses grow with the number of addresses
alone.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any, Final

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import constant_time_compare, salted_hmac

from leaderboard.accounts.models import User
from leaderboard.web import limits

COOKIE: Final = "known_device"
SALT: Final = "photofinish.device"
LASTS_S: Final = 365 * 86_400
MOST_LOGINS: Final = 5  # on one device; the oldest sign-in is dropped first


@dataclass(frozen=True)
class PasswordTry:
    """A guess at the password of a name, with the limits that it counts under."""

    counted: tuple[limits.Try, ...]
    wait_s: int | None

    def was_right(self) -> None:
        """Reset the first count, and take this guess off the rest."""
        if self.counted:
            limits.forget(*self.counted[0])
            limits.give_back(*self.counted[1:])


def count_try(request: HttpRequest, username: str, *first: limits.Try) -> PasswordTry:
    """Count a guess under `first`, and then by device or by address.

    `wait_s` of the result is None unless the guess is refused.
    """
    name = User.normalize_username(
        username.strip()
    ).lower()  # as Django's form reads it; without this ａｄａ gets ten more tries
    if device := _device_of(request, name):
        tries = (*first, (limits.SIGN_IN_DEVICE, f"{name} {device}"))
        return PasswordTry(tries, limits.take_each(*tries))
    besieged = limits.is_spent(limits.SIGN_IN_NAME, name)
    here = limits.SIGN_IN_BESIEGED if besieged else limits.SIGN_IN_HERE
    tries = (*first, (here, f"{name} {limits.address(request)}"), *limits.by_address(limits.SIGN_IN_IP, request))
    wait_s = limits.take_each(*tries)
    if wait_s is None:
        limits.take(limits.SIGN_IN_NAME, name)
    return PasswordTry((*tries, (limits.SIGN_IN_NAME, name)), wait_s)


def remember_device(request: HttpRequest, response: HttpResponse, login: User) -> None:
    """Make this device known for the login. Call it after a correct password."""
    known = [entry for entry in _known(request) if entry[0] != login.pk][: MOST_LOGINS - 1]
    known.insert(0, [login.pk, secrets.token_hex(8), _fingerprint(login)])
    response.set_cookie(
        COOKIE,
        signing.dumps(known, salt=SALT),
        max_age=LASTS_S,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _device_of(request: HttpRequest, name: str) -> str:
    """Return the device's id if it is known for this name and the password has not changed since, else ""."""
    known = {pk: (device, fingerprint) for pk, device, fingerprint in _known(request)}
    for login in User.objects.filter(pk__in=known) if known else ():
        device, fingerprint = known[login.pk]
        if login.get_username().lower() == name and constant_time_compare(fingerprint, _fingerprint(login)):
            return str(device)
    return ""


def _known(request: HttpRequest) -> list[Any]:
    try:
        found = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=LASTS_S)
    except signing.BadSignature:
        return []
    return list(found)


def _fingerprint(login: User) -> str:
    return salted_hmac(SALT, login.password, algorithm="sha256").hexdigest()[:16]
