"""Carry messages by mail and webhook. The sweeper calls `deliver`; any number of sweepers may.

Events gather until GATHER passes without a new event, at most for GATHER_MOST; then they go into one mail or post. A
person gets the next one after MAIL_EVERY or HOOK_EVERY at the earliest. The oldest event goes first. A slow receiver
waits SLOWNESS times as long as its last post took, so it takes a small share of a sender's time. A post that fails is
tried again at most HOOK_TRIES times, then the webhook is off and its page shows the reason. A post of JSON has at most
MOST_EVENTS events; the newer ones wait for the next post.
"""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, Final

import structlog
from allauth.account.models import EmailAddress
from django.conf import settings
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Exists, Min, OuterRef, Q, QuerySet

from leaderboard.accounts.models import User
from leaderboard.accounts.tokens import unseal
from leaderboard.inbox import hooks
from leaderboard.inbox.models import SIGNED_JSON, Message, Preference

GATHER: Final = timedelta(seconds=30)  # of silence after the newest event
GATHER_MOST: Final = timedelta(minutes=5)  # from the first event that is not yet sent: a steady stream has no silence
MAIL_EVERY: Final = timedelta(minutes=10)
MOST_MAILS: Final = 20  # to a person and day
HOOK_EVERY: Final = timedelta(minutes=1)
HOOK_WAITS: Final = (timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1), timedelta(hours=6))
HOOK_TRIES: Final = len(HOOK_WAITS) + 1
SLOWNESS: Final = 20  # a receiver holds a place of AT_ONCE for at most a twentieth of the time
LEASE: Final = timedelta(minutes=5)  # longer than any post
PASS_MAILS: Final = 100  # people in a pass
PASS_HOOKS: Final = 32
AT_ONCE: Final = 8
MOST_LINES: Final = 20  # messages in a mail, or in a post to a chat; the rest is counted
MOST_EVENTS: Final = 100  # messages in a post of JSON
DELIVERY_CHARS: Final = 32
OFF_SALT: Final = "photofinish.inbox.off"
KIND_WORDS: Final = {
    "verdict": "verdicts",
    "overtaken": "being overtaken",
    "review": "review decisions and grades",
    "announcement": "announcements",
    "phase": "phases of competitions",
    "organising": "competitions that you organise",
}

log = structlog.get_logger(__name__)


def deliver(*, now: datetime) -> dict[str, int]:
    return {"mails": deliver_mails(now=now), "posts": deliver_posts(now=now)}


def off_address(account: int, kind: str) -> str:
    """Return the address that turns mails of a kind off, without a sign-in; `kind` "": all mails."""
    return f"{settings.SITE_URL}/notifications/off/{signing.dumps([account, kind], salt=OFF_SALT)}"


def read_off(token: str) -> tuple[int, str] | None:
    """Return account and kind of an address of off_address; None for a wrong one."""
    try:
        account, kind = signing.loads(token, salt=OFF_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    return int(account), str(kind)


def deliver_mails(*, now: datetime) -> int:
    """Put a mail into the outbox for each person with due messages; return their number."""
    due = Message.objects.filter(mail_due=True)
    if not settings.MAIL_URL:
        due.update(mail_due=False)
        return 0
    waits = Preference.objects.filter(user=OuterRef("user"), mail_at__gt=now)
    accounts = oldest_first(due.filter(~Exists(waits)), "mail_since", PASS_MAILS, now)
    return sum(send_mail_to(account, now) for account in accounts)


def oldest_first(due: QuerySet[Message], since: str, most: int, now: datetime) -> list[int]:
    """Return the people of these messages whose events were gathered, the longest waiting first.

    `since`: the field with the time of the first event that the channel has not carried.
    """
    gathered = due.filter(Q(updated_at__lte=now - GATHER) | Q(**{f"{since}__lte": now - GATHER_MOST}))
    oldest = gathered.values_list("user").annotate(oldest=Min("updated_at")).order_by("oldest", "user")
    return [account for account, _ in oldest[:most]]


@transaction.atomic
def send_mail_to(account: int, now: datetime) -> bool:
    Preference.objects.get_or_create(user_id=account)
    chosen = Preference.objects.select_for_update(skip_locked=True).filter(Q(mail_at=None) | Q(mail_at__lte=now))
    preference = chosen.filter(user=account).first()
    if preference is None:
        return False  # another sweeper has them
    messages = list(Message.objects.filter(user=account, mail_due=True).order_by("-updated_at", "-pk"))
    person = User.objects.filter(pk=account, is_active=True).first()
    confirmed = EmailAddress.objects.filter(user=account, verified=True).order_by("-primary", "pk").first()
    carried = Message.objects.filter(pk__in=[message.pk for message in messages])
    carried.update(mail_due=False)
    carried.filter(on_page=False, webhook_due=False, read_at=None).update(read_at=now)  # it is on no page
    if not messages or person is None or confirmed is None:
        return False
    today = now.astimezone(UTC).date()
    sent = preference.mails + 1 if preference.mail_day == today else 1
    tomorrow = datetime.combine(today + timedelta(days=1), datetime.min.time(), UTC)
    preference.mail_day, preference.mails = today, sent
    preference.mail_at = tomorrow if sent >= MOST_MAILS else now + MAIL_EVERY
    preference.save(update_fields=["mail_day", "mails", "mail_at"])
    compose(person, confirmed.email, messages).send()
    return True


def compose(person: User, address: str, messages: Sequence[Message]) -> EmailMessage:
    """Return the mail about these messages, newest first, with a way to turn each kind off."""
    first, more = messages[0], f" and {len(messages) - 1} more" if len(messages) > 1 else ""
    parts = [f"{line_of(one)}\n{one.text}\n{settings.SITE_URL}{one.url}" for one in messages[:MOST_LINES]]
    if len(messages) > MOST_LINES:
        parts.append(f"… and {len(messages) - MOST_LINES} more: {settings.SITE_URL}/notifications")
    kinds = [kind for kind in KIND_WORDS if any(one.kind == kind for one in messages)]
    ends = [f"No more mails about {KIND_WORDS[kind]}: {off_address(person.pk, kind)}" for kind in kinds]
    every = off_address(person.pk, "")
    ends += [f"No more of these mails at all: {every}", f"All choices: {settings.SITE_URL}/notifications/settings"]
    body = f"Hello {person.username},\n\n" + "\n\n".join(parts) + "\n\n--\n" + "\n".join(ends) + "\n"
    headers = {"List-Unsubscribe": f"<{every}>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    subject = " ".join(f"{settings.ACCOUNT_EMAIL_SUBJECT_PREFIX}{first.title}{more}".split())
    return EmailMessage(subject, body, None, [address], headers=headers)


def line_of(message: Message) -> str:
    return f"{message.title} ({message.count} times)" if message.count > 1 else message.title


def deliver_posts(*, now: datetime) -> int:
    """Post to each webhook with due messages, a few at a time; return the number of posts that arrived."""
    waits = Preference.objects.filter(user=OuterRef("user"), hook_at__gt=now)
    due = Message.objects.filter(~Exists(waits), webhook_due=True)
    accounts = oldest_first(due, "webhook_since", PASS_HOOKS, now)
    claimed = [found for account in accounts if (found := claim_hook(account, now)) is not None]
    if not claimed:
        return 0
    with ThreadPoolExecutor(AT_ONCE) as pool:
        ends = list(pool.map(lambda pair: timed_post(*pair), claimed))
    for (preference, messages), (problem, took) in zip(claimed, ends, strict=True):
        note_post(preference, messages, problem, took, now)
    return sum(problem is None for problem, _ in ends)


def timed_post(preference: Preference, messages: Sequence[Message]) -> tuple[hooks.HookError | None, timedelta]:
    began = monotonic()
    return try_post(preference, messages), timedelta(seconds=monotonic() - began)


@transaction.atomic
def claim_hook(account: int, now: datetime) -> tuple[Preference, list[Message]] | None:
    """Reserve a webhook for this sweeper until LEASE is over."""
    ready = Preference.objects.select_for_update(skip_locked=True).filter(Q(hook_at=None) | Q(hook_at__lte=now))
    preference = ready.filter(user=account).exclude(hook="").first()
    messages = list(Message.objects.filter(user=account, webhook_due=True).order_by("-updated_at", "-pk"))
    is_active = User.objects.filter(pk=account, is_active=True).exists()
    if preference is None or not is_active:
        if not is_active or not Preference.objects.filter(user=account).exclude(hook="").exists():
            Message.objects.filter(pk__in=[one.pk for one in messages]).update(webhook_due=False)
        return None
    preference.hook_at = now + LEASE
    preference.save(update_fields=["hook_at"])
    return preference, messages[-MOST_EVENTS:] if preference.hook_format == SIGNED_JSON else messages


def try_post(preference: Preference, messages: Sequence[Message]) -> hooks.HookError | None:
    """Post the messages; return the failure. It uses no database, so that it can run in a thread."""
    try:
        if preference.hook_format == SIGNED_JSON:
            body = {"events": [event_of(one) for one in reversed(messages)]}
            hooks.post(unseal(preference.hook), body, signed_headers(preference, body))
        else:
            hooks.post(unseal(preference.hook), hooks.payload(preference.hook_format, lines_of(messages)))
    except hooks.HookError as error:
        return error
    except Exception:  # any: a message that cannot be posted must not stop the others
        log.exception("hook_failed", account=preference.user_id)
        return hooks.HookError("it could not be sent")
    return None


def lines_of(messages: Sequence[Message]) -> list[tuple[str, str]]:
    lines = [(f"{line_of(one)}. {one.text}", f"{settings.SITE_URL}{one.url}") for one in messages[:MOST_LINES]]
    if len(messages) > MOST_LINES:
        lines.append((f"And {len(messages) - MOST_LINES} more:", f"{settings.SITE_URL}/notifications"))
    return lines


def event_of(message: Message) -> dict[str, Any]:
    """Return a message as JSON. Its id changes once a further event joins the message."""
    return {
        "id": f"{message.pk or 0}.{message.count}",
        "kind": message.kind,
        "subject": message.subject,
        "title": message.title,
        "text": message.text,
        "url": f"{settings.SITE_URL}{message.url}",
        "count": message.count,
        "at": message.updated_at.isoformat(),
    }


def signed_headers(preference: Preference, body: dict[str, Any]) -> dict[str, str]:
    """Return the headers of a post of JSON. Another try with the same events has the same delivery id."""
    data, now = hooks.encode(body), datetime.now(UTC)
    secrets = [unseal(preference.hook_secret)]
    if preference.hook_former_until is not None and now < preference.hook_former_until:
        secrets.append(unseal(preference.hook_former))
    return {
        "Photofinish-Event": ",".join(sorted({event["kind"] for event in body["events"]})),
        "Photofinish-Delivery": hashlib.sha256(data).hexdigest()[:DELIVERY_CHARS],
        "Photofinish-Signature": hooks.signature(data, secrets, time_s=int(now.timestamp())),
    }


@transaction.atomic
def note_post(
    preference: Preference, messages: Sequence[Message], problem: hooks.HookError | None, took: timedelta, now: datetime
) -> None:
    found = Preference.objects.select_for_update().filter(pk=preference.pk, hook=preference.hook).first()
    if found is None:
        return  # the person has changed or removed it meanwhile
    if problem is None:
        found.hook_tries, found.hook_failure, found.hook_at = 0, "", now + max(HOOK_EVERY, SLOWNESS * took)
        for one in messages:  # an event that joined a message meanwhile stays due
            carried = Message.objects.filter(pk=one.pk, updated_at=one.updated_at)
            carried.update(webhook_due=False)
            carried.filter(on_page=False, mail_due=False, read_at=None).update(read_at=now)
    else:
        found.hook_tries += 1
        found.hook_failure = str(problem)
        found.hook_at = now + max(HOOK_WAITS[min(found.hook_tries, len(HOOK_WAITS)) - 1], SLOWNESS * took)
        if problem.is_final or found.hook_tries >= HOOK_TRIES:
            found.hook, found.hook_at = "", None
            Message.objects.filter(user=found.user_id, webhook_due=True).update(webhook_due=False)
        log.info("hook_not_sent", account=found.user_id, tries=found.hook_tries, problem=str(problem))
    found.save(update_fields=["hook", "hook_tries", "hook_failure", "hook_at"])
