"""API tokens of people: issue, find, revoke. Bearer secrets of every kind, and secrets that the site reads again.

A bearer secret is made from the system's randomness, shown once, and kept as a SHA-256 digest. A plain digest is enough
because the text has 256 random bits, too many to guess. A secret that the site reads again is sealed: encrypted under
a key that follows from SECRET_KEY.
"""

import hashlib
import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import SCOPES, ApiToken, User
from leaderboard.audit.record import record
from leaderboard.errors import UserError

KIND: Final = "pf_"
MAX_TOKENS: Final = 50  # per owner, valid
MAX_NAME_CHARS: Final = 64
LAST_USE_GRAIN: Final = timedelta(minutes=1)  # `last_used_at` is written at most this often

RANDOM_BYTES: Final = 32
SHOWN_CHARS: Final = 6  # of the random part
MAX_SECRET_CHARS: Final = 128
SEALED: Final = "sealed:"  # begins a sealed text; no secret from before contains a colon


def is_valid_at(now: datetime) -> Q:
    return Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now))


def tokens_of(owner: User, now: datetime) -> QuerySet[ApiToken]:
    """Return the valid tokens that act as this account: its own and those of its linked logins."""
    return ApiToken.objects.filter(is_valid_at(now), owner__in=logins_of(owner))


def issue_token(
    *,
    owner: User,
    name: str,
    scopes: Collection[str],
    now: datetime,
    lifetime: timedelta | None = None,
    device_s_per_day: int | None = None,
    per_hour: int | None = None,
) -> tuple[ApiToken, str]:
    """Create a token; return it and its text, which cannot be shown again. `lifetime` None: it never expires.

    `device_s_per_day`, `per_hour`: limits of the submissions that it sends; None: those of the account alone.
    """
    name = name.strip()
    if not name or len(name) > MAX_NAME_CHARS or not name.isprintable():
        raise UserError("name", name, f"expected 1 to {MAX_NAME_CHARS} printable characters")
    unknown = sorted(set(scopes) - set(SCOPES))
    if unknown or not scopes:
        raise UserError("scopes", ", ".join(unknown), f"choose one or more of {', '.join(SCOPES)}")
    if tokens_of(owner, now).count() >= MAX_TOKENS:
        raise UserError("name", name, f"you have {MAX_TOKENS} tokens; revoke one that you no longer use", status=409)
    secret = make_secret(KIND)
    token = ApiToken.objects.create(
        owner=owner,
        name=name,
        prefix=secret.prefix,
        digest=secret.digest,
        scopes=[scope for scope in SCOPES if scope in scopes],
        created_at=now,
        expires_at=None if lifetime is None else now + lifetime,
        device_s_per_day=device_s_per_day,
        per_hour=per_hour,
    )
    return token, secret.text


def find_token(text: str, *, now: datetime) -> ApiToken | None:
    """Return the valid token with this text, or None. Its use is recorded."""
    if not text.startswith(KIND) or len(text) > MAX_SECRET_CHARS:
        return None
    valid = ApiToken.objects.filter(is_valid_at(now), digest=digest_of(text))
    token = valid.select_related("owner__linked_to", "owner__agent_of__linked_to").first()
    if token is None or not token.owner.is_usable:
        return None
    if token.last_used_at is None or token.last_used_at < now - LAST_USE_GRAIN:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token


@transaction.atomic
def revoke_token(*, token: ApiToken, actor: User, now: datetime) -> bool:
    """Revoke a token; return whether this call did, False if it was revoked already."""
    if not ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now):
        return False
    record("revoke_token", token, actor=actor, reason=f"token {token.prefix}", now=now)
    return True


@dataclass(frozen=True)
class Secret:
    text: str
    prefix: str
    digest: str


def make_secret(kind: str) -> Secret:
    """Return a new secret; `kind` starts its text ("pf_", "pfr_"), so that leaked secrets can be recognised."""
    random = secrets.token_urlsafe(RANDOM_BYTES)
    return Secret(text=kind + random, prefix=kind + random[:SHOWN_CHARS], digest=digest_of(kind + random))


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def seal(text: str) -> str:
    """Encrypt a secret that the site must read again, such as the key of an authenticator app."""
    return SEALED + _box().encrypt(text.encode()).decode()


def unseal(kept: str) -> str:
    """Return the text of a sealed secret. A text without the mark is from before secrets were sealed."""
    if not kept.startswith(SEALED):
        return kept
    try:
        return _box().decrypt(kept.removeprefix(SEALED)).decode()
    except InvalidToken:
        remedy = "put the former SECRET_KEY into SECRET_KEY_FALLBACKS"
        raise ValueError(f"a sealed secret is damaged, or sealed under another SECRET_KEY: {remedy}") from None


def _box() -> MultiFernet:
    """Encrypt under SECRET_KEY, decrypt under SECRET_KEY_FALLBACKS as well."""
    keys = (
        hmac.digest(key.encode(), b"photofinish: sealed secrets", "sha256")
        for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )
    return MultiFernet([Fernet(urlsafe_b64encode(key)) for key in keys])
