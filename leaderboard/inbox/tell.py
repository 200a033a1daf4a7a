"""Write messages, read them, and choose their channels."""

import secrets
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce

from leaderboard.accounts.models import User
from leaderboard.accounts.tokens import seal
from leaderboard.competitions.models import Competition, Role
from leaderboard.errors import UserError
from leaderboard.inbox.models import (
    CHANNELS,
    FORMATS,
    KINDS,
    MAIL,
    ORGANISING,
    SIGNED_JSON,
    WEBHOOK,
    Message,
    Preference,
)

MOST_COUNTED: Final = 99  # unread messages on the bell
MAX_HOOK_CHARS: Final = 500
SECRET_PREFIX: Final = "pfw_"  # noqa: S105
OVERLAP: Final = timedelta(hours=24)  # both secrets sign after a change
BATCH: Final = 5_000

_WRITE: Final = """
INSERT INTO inbox_message AS known (user_id, kind, subject, title, text, url, count, created_at, updated_at, read_at,
                                    on_page, mail_due, webhook_due, mail_since, webhook_since)
SELECT person, %(kind)s, %(subject)s, %(title)s, %(text)s, %(url)s, 1, %(now)s, %(now)s, NULL, on_page, mail, webhook,
       %(now)s, %(now)s
  FROM unnest(%(people)s::bigint[], %(on_page)s::boolean[], %(mail)s::boolean[], %(webhook)s::boolean[])
       AS wanted (person, on_page, mail, webhook)
 ORDER BY person
    ON CONFLICT (user_id, kind, subject) WHERE read_at IS NULL DO UPDATE
   SET title = excluded.title, text = excluded.text, url = excluded.url, count = known.count + 1,
       updated_at = excluded.updated_at, on_page = excluded.on_page,
       mail_due = excluded.mail_due, webhook_due = excluded.webhook_due,
       mail_since = CASE WHEN known.mail_due THEN known.mail_since ELSE excluded.mail_since END,
       webhook_since = CASE WHEN known.webhook_due THEN known.webhook_since ELSE excluded.webhook_since END
"""


def tell(
    people: Iterable[int], kind: str, *, subject: str, title: str, url: str, text: str = "", now: datetime
) -> None:
    """Write to accounts about an event, on the channels that each has chosen for its kind.

    It joins the caller's transaction. The rows are written in the order of people, so two acts never wait in a circle.
    """
    keys = sorted(set(people))
    for start in range(0, len(keys), BATCH):
        write(keys[start : start + BATCH], kind, subject, title[:200], text[:500], url[:300], now)


def tell_organisers(
    competition: Competition, *, subject: str, title: str, url: str, text: str = "", now: datetime
) -> None:
    """Write to everybody with a role in a competition."""
    roles = Role.objects.filter(competition=competition, user__is_active=True).order_by()
    people = roles.annotate(account=Coalesce(F("user__linked_to"), F("user"))).values_list("account", flat=True)
    tell(people, ORGANISING, subject=subject, title=f"{competition}: {title}", text=text, url=url, now=now)


def write(keys: list[int], kind: str, subject: str, title: str, text: str, url: str, now: datetime) -> None:
    chosen = Preference.objects.in_bulk(keys)
    usual = Preference()
    wanted: list[tuple[int, bool, bool, bool]] = []
    for key in keys:
        one = chosen.get(key, usual)
        on = (kind in one.page, kind in one.mail, kind in one.webhook and bool(one.hook))
        if any(on):
            wanted.append((key, *on))
    if not wanted:
        return
    people, on_page, mail, webhook = (list(column) for column in zip(*wanted, strict=True))
    values: dict[str, Any] = {"kind": kind, "subject": subject, "title": title, "text": text, "url": url, "now": now}
    columns = {"people": people, "on_page": on_page, "mail": mail, "webhook": webhook}
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, values | columns)


def messages_of(user: User) -> QuerySet[Message]:
    return Message.objects.filter(user=user.account_id, on_page=True)


def unread(user: User, path: str, now: datetime) -> int:
    """Return the number of unread messages, at most MOST_COUNTED.

    A message is read once its person opens the page that it leads to.
    """
    rows = messages_of(user).filter(read_at=None).order_by()[: MOST_COUNTED + 1]
    waiting = list(rows.values_list("pk", "url"))
    here = [pk for pk, url in waiting if unquote(url.partition("#")[0]) == path]
    if here:
        Message.objects.filter(pk__in=here, read_at=None).update(read_at=now)
    return len(waiting) - len(here)


def read_all(user: User, now: datetime, only: Collection[int] = ()) -> int:
    """Mark messages as read; return their number. `only`: keys of messages, or empty for all."""
    found = messages_of(user).filter(read_at=None)
    return (found.filter(pk__in=only) if only else found).update(read_at=now)


def preference_of(user: User) -> Preference:
    return Preference.objects.filter(user=user.account_id).first() or Preference(user_id=user.account_id)


@transaction.atomic
def choose(*, user: User, page: Collection[str], mail: Collection[str], webhook: Collection[str]) -> None:
    """Choose the kinds of messages by channel. A channel without a kind is off."""
    given = dict(zip(CHANNELS, (page, mail, webhook), strict=True))
    for channel, kinds in given.items():
        wrong = next((kind for kind in kinds if kind not in KINDS), None)
        if wrong is not None:
            raise UserError(channel, wrong[:40], f"no such kind of message; there is {', '.join(KINDS)}")
    values = {channel: [kind for kind in KINDS if kind in kinds] for channel, kinds in given.items()}
    Preference.objects.update_or_create(user_id=user.account_id, defaults=values)
    for channel, due in ((MAIL, "mail_due"), (WEBHOOK, "webhook_due")):
        stopped = Message.objects.filter(Q(**{due: True}), user=user.account_id).exclude(kind__in=values[channel])
        stopped.update(**{due: False})


@transaction.atomic
def stop(*, account: int, channel: str, kind: str) -> None:
    """Turn a kind off on a channel; `kind` "": all of them."""
    found, _ = Preference.objects.select_for_update().get_or_create(user_id=account)
    kinds = [one for one in getattr(found, channel) if kind and one != kind]
    setattr(found, channel, kinds)
    found.save(update_fields=[channel])
    if channel in (MAIL, WEBHOOK):
        due = {f"{channel}_due": True}
        Message.objects.filter(user=account, **due).exclude(kind__in=kinds).update(**dict.fromkeys(due, False))


@transaction.atomic
def set_hook(*, user: User, address: str, form: str) -> tuple[Preference, str]:
    """Keep the address of a webhook, sealed: it is a secret, and no page shows it again.

    Return also the secret that signs posts of JSON, to be shown once; "" for a chat.
    """
    address = address.strip()
    if form not in FORMATS:
        raise UserError("format", form[:40], f"choose {', '.join(FORMATS)}")
    host = checked_hook(address)
    values: dict[str, Any] = {"hook": seal(address), "hook_host": host, "hook_format": form}
    secret = new_secret() if form == SIGNED_JSON else ""
    values |= {"hook_at": None, "hook_tries": 0, "hook_failure": "", "hook_secret": seal(secret) if secret else ""}
    values |= {"hook_former": "", "hook_former_until": None}
    found, _ = Preference.objects.update_or_create(user_id=user.account_id, defaults=values)
    return found, secret


@transaction.atomic
def rotate_secret(*, user: User, now: datetime) -> str:
    """Return a new secret of the person's webhook. The secret before signs beside it for OVERLAP."""
    found = Preference.objects.select_for_update().filter(user=user.account_id, hook_format=SIGNED_JSON).first()
    if found is None or not found.hook:
        text = "only a webhook of the format json has a secret; set its address first"
        raise UserError("webhook", "", text, 409, "no_webhook")
    secret = new_secret()
    found.hook_former, found.hook_secret, found.hook_former_until = found.hook_secret, seal(secret), now + OVERLAP
    found.save(update_fields=["hook_former", "hook_secret", "hook_former_until"])
    return secret


def new_secret() -> str:
    return SECRET_PREFIX + secrets.token_urlsafe(32)


@transaction.atomic
def remove_hook(*, user: User) -> None:
    values: dict[str, Any] = {"hook": "", "hook_host": "", "hook_tries": 0, "hook_failure": "", "hook_at": None}
    values |= {"hook_secret": "", "hook_former": "", "hook_former_until": None}
    Preference.objects.filter(user=user.account_id).update(**values)
    Message.objects.filter(user=user.account_id, webhook_due=True).update(webhook_due=False)


def checked_hook(address: str) -> str:
    """Return the host of a webhook's address. Raises UserError, which never repeats the address."""
    if not address or len(address) > MAX_HOOK_CHARS or not address.isascii() or not address.isprintable():
        raise UserError("address", "", f"expected an address of at most {MAX_HOOK_CHARS} plain characters")
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise UserError("address", "", "is not an address such as https://discord.com/api/webhooks/…") from None
    if parts.scheme != "https" or not parts.hostname or " " in address:
        raise UserError("address", "", "must begin with https://, such as https://discord.com/api/webhooks/…")
    if parts.username or parts.password or port not in (None, 443):
        raise UserError("address", "", "must have no user name and no port but 443")
    return parts.hostname


def forget(*, accounts: Collection[int] | QuerySet[User, Any]) -> None:
    """Delete the messages and choices of closed accounts."""
    Message.objects.filter(user__in=accounts).delete()
    Preference.objects.filter(user__in=accounts).delete()
