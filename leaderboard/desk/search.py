"""Find people: by name, pseudonym, team, e-mail, token prefix, or network of a sign-in. Every query has an index."""

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from itertools import islice
from typing import Any, Final

from django.db.models import QuerySet
from django.db.models.functions import Collate, Lower

from leaderboard.accounts.models import ApiToken, User
from leaderboard.accounts.tokens import KIND, SHOWN_CHARS
from leaderboard.audit.models import Row
from leaderboard.entrants.models import Membership
from leaderboard.entrants.names import look

MOST: Final = 50  # people in an answer
MOST_SIGN_INS: Final = 2_000  # newest, read for an address
MAX_CHARS: Final = 254
IPV6_BITS: Final = 64  # an audit row keeps the network, as web/limits.py counts it

Found = Iterable[tuple[int, str]]  # a login, and why it was found


def find(text: str) -> list[tuple[User, str]]:
    """Return the accounts that the text leads to, each with the reason; the exact name first."""
    text = text.strip()[:MAX_CHARS].replace("\x00", "")
    if not text:
        return []
    reasons: dict[int, str] = {}
    for search in (_by_name, _by_entrant, _by_token, _by_mail, _by_address):
        for login, why in search(text):
            reasons.setdefault(login, why)
    logins = {login.pk: login for login in User.objects.filter(pk__in=reasons).select_related("linked_to")}
    accounts: dict[User, str] = {}
    for pk, why in reasons.items():
        accounts.setdefault(logins[pk].account, why)
    return list(islice(accounts.items(), MOST))


def _begins(rows: QuerySet[Any], column: str, text: str) -> QuerySet[Any]:
    found: QuerySet[Any] = rows.alias(low=Collate(Lower(column), "C")).filter(low__startswith=text.lower())
    return found


def _by_name(text: str) -> Found:
    found = _begins(User.objects.all(), "username", text).order_by("low")[:MOST]
    return [(pk, f"name {name}") for pk, name in found.values_list("pk", "username")]


def _by_entrant(text: str) -> Found:
    """By the beginning of a team's name or a pseudonym, or by a name that looks alike."""
    members = Membership.objects.select_related("entrant__competition").order_by("-pk")
    for rows in (
        _begins(members, "entrant__name", text),
        _begins(members.exclude(entrant__pseudonym=""), "entrant__pseudonym", text),
        members.filter(entrant__looks__contains=[look(text)]),
    ):
        for row in rows[:MOST]:
            entrant = row.entrant
            kind = "team" if entrant.is_team else "entrant"
            alias = f", pseudonym {entrant.pseudonym}" if entrant.pseudonym else ""
            yield row.user_id, f"{kind} {entrant.name}{alias} of {entrant.competition.name}"


def _by_token(text: str) -> Found:
    """By the shown beginning of a token. Only this much of a whole token, which may have leaked, is used."""
    if not text.startswith(KIND):
        return []
    found = ApiToken.objects.filter(prefix=text[: len(KIND) + SHOWN_CHARS])[:MOST]
    return [(token.owner_id, f"token {token.prefix}…{' (revoked)' * bool(token.revoked_at)}") for token in found]


def _by_mail(text: str) -> Found:
    if "@" not in text:
        return []
    found = _begins(User.objects.all(), "email", text).order_by("pk")[:MOST]
    return [(pk, f"e-mail {mail}") for pk, mail in found.values_list("pk", "email")]


def _by_address(text: str) -> Found:
    try:
        peer = ip_address(text)
    except ValueError:
        return []
    kept = str(peer) if peer.version == 4 else str(ip_network((peer, IPV6_BITS), strict=False))
    rows = Row.objects.filter(act="sign_in_done", address=kept, object_type=User._meta.label_lower)
    seen = rows.order_by("-pk").values_list("object_id", "created_at")[:MOST_SIGN_INS]
    return [(int(pk), f"signed in from {kept} on {at:%Y-%m-%d}") for pk, at in seen]
