"""Sign-in of a command line by a short code, which a signed-in person confirms on the site.

The device keeps a long secret and shows the short code. The person types the short code, sees the device's name and
scopes, and confirms. The device then exchanges its secret for a token, once. Only digests of secrets are stored.
"""

import secrets
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from leaderboard.accounts.models import SCOPES, ApiToken, DeviceLogin, User
from leaderboard.accounts.tokens import MAX_NAME_CHARS, digest_of, issue_token, make_secret
from leaderboard.errors import UserError

KIND: Final = "pfd_"
LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels, so that no code is a word
CODE_CHARS: Final = 8
LASTS: Final = timedelta(minutes=10)
INTERVAL_S: Final = 5  # between two questions of the device
SOONEST: Final = timedelta(seconds=2)
TOKEN_LASTS: Final = timedelta(days=90)
MAX_SECRET_CHARS: Final = 128
GONE: Final = "this code is unknown, used or too old; run `photofinish login` again"


def start(*, name: str, scopes: Collection[str], now: datetime) -> tuple[DeviceLogin, str]:
    """Begin a sign-in; return it and the device's secret."""
    name = name.strip()
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise UserError("name", name, f"expected 1 to {MAX_NAME_CHARS} printable characters")
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise UserError("scopes", ", ".join(unknown), f"choose one or more of {', '.join(SCOPES)}")
    secret = make_secret(KIND)
    asked = DeviceLogin.objects.create(
        digest=secret.digest,
        code="".join(secrets.choice(LETTERS) for _ in range(CODE_CHARS)),  # 2.6e10 codes, of which a few are open
        name=name,
        scopes=[scope for scope in SCOPES if scope in scopes],
        created_at=now,
        expires_at=now + LASTS,
    )
    return asked, secret.text


def waiting(code: str, *, now: datetime) -> DeviceLogin:
    """Return the sign-in that waits under this short code. Raises UserError."""
    known = "".join(letter for letter in code[:40].upper() if letter in LETTERS)
    found = DeviceLogin.objects.filter(code=known, approved_by=None, refused_at=None, expires_at__gt=now).first()
    if found is None:
        raise UserError("code", code, GONE, code="expired_code")
    return found


def settle(*, asked: DeviceLogin, user: User, allow: bool, now: datetime) -> None:
    """Confirm or refuse a sign-in, once. Raises UserError."""
    answer = {"approved_by": user} if allow else {"refused_at": now}
    open_ones = DeviceLogin.objects.filter(pk=asked.pk, approved_by=None, refused_at=None, expires_at__gt=now)
    if not open_ones.update(**answer):
        raise UserError("code", asked.code, GONE, code="expired_code")


@transaction.atomic
def collect(*, secret: str, now: datetime) -> tuple[ApiToken, str] | UserError:
    """Return the token of a confirmed sign-in with its text, or the refusal, which the caller raises.

    A refusal is returned, so that the time of this question is stored with it.
    """
    found = None
    if secret.startswith(KIND) and len(secret) <= MAX_SECRET_CHARS and secret.isascii():
        found = DeviceLogin.objects.select_for_update().filter(digest=digest_of(secret), expires_at__gt=now).first()
    if found is None:
        return UserError("device_code", "", GONE, code="expired_code")
    if found.refused_at is not None:
        return UserError("device_code", "", "the sign-in was refused on the site", 403, "access_denied")
    is_early = found.asked_at is not None and now < found.asked_at + SOONEST
    DeviceLogin.objects.filter(pk=found.pk).update(asked_at=now)
    if is_early:
        return UserError("device_code", "", f"ask every {INTERVAL_S} s", code="slow_down")
    if found.approved_by is None:
        return UserError("device_code", "", "nobody has confirmed the code yet", code="authorization_pending")
    name, scopes, owner = found.name, found.scopes, found.approved_by
    found.delete()
    return issue_token(owner=owner, name=name, scopes=scopes, now=now, lifetime=TOKEN_LASTS)
