"""Notices to operators, by mail and webhook: OPERATOR_MAIL, OPERATOR_WEBHOOK.

A notice is a row, written in the transaction of its cause. It is neither lost with the broker nor sent for an act that
was rolled back. The sweeper sends; a failed try is repeated, at last once an hour. A mail goes once, as the outbox
keeps it: a webhook that is broken repeats no mail.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import httpx
import structlog
from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction

from leaderboard.operations.models import Notice

QUIET: Final = timedelta(hours=1)  # the same event about the same subject is noticed once in this time
MOST: Final = 20  # in one message
WAITS: Final = (timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1))  # after a failed try
WEBHOOK_S: Final = 5.0

log = structlog.get_logger(__name__)


def tell_operators(event: str, text: str, *, subject: object, now: datetime, **about: Any) -> None:
    """Log an error and leave a notice about it. Joins the caller's transaction."""
    log.error(event, subject=str(subject), text=text, **about)
    subject = str(subject)[:200]
    if not Notice.objects.filter(event=event, subject=subject, created_at__gt=now - QUIET).exists():
        Notice.objects.create(event=event, subject=subject, text=text, created_at=now, try_at=now)


def has_receiver() -> bool:
    return bool(settings.OPERATOR_MAIL or settings.OPERATOR_WEBHOOK)


@transaction.atomic
def send_notices(*, now: datetime) -> int:
    """Send the notices that are due, in one message. Return their number; 0 if there is no receiver."""
    if not has_receiver():
        return 0
    due = Notice.objects.select_for_update(skip_locked=True).filter(sent_at=None, try_at__lte=now)
    notices = list(due.order_by("pk")[:MOST])
    if not notices:
        return 0
    try:
        _send(notices, now)
    except (OSError, httpx.HTTPError) as error:  # smtplib's errors are OSErrors
        log.warning("notices_not_sent", error=str(error), notices=len(notices))
        for notice in notices:
            notice.try_at = now + WAITS[min(notice.tries, len(WAITS) - 1)]
            notice.tries += 1
            notice.failure = str(error)[:300]
        Notice.objects.bulk_update(notices, ["try_at", "tries", "failure"])
        return 0
    Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(sent_at=now)
    return len(notices)


def _send(notices: Sequence[Notice], now: datetime) -> None:
    fresh = [notice for notice in notices if notice.mailed_at is None]
    if settings.OPERATOR_MAIL and fresh:
        send_mail(*_written(fresh), None, settings.OPERATOR_MAIL)
        Notice.objects.filter(pk__in=[notice.pk for notice in fresh]).update(mailed_at=now)
    if settings.OPERATOR_WEBHOOK:
        text = "\n".join(_written(notices))
        answer = httpx.post(settings.OPERATOR_WEBHOOK, json={"text": text}, timeout=WEBHOOK_S)
        if not answer.is_success:  # raise_for_status() names the address, which is a secret
            raise httpx.HTTPError(f"OPERATOR_WEBHOOK answered {answer.status_code}")


def _written(notices: Sequence[Notice]) -> tuple[str, str]:
    """Return title and body of a message."""
    first, more = notices[0], f" and {len(notices) - 1} more" if len(notices) > 1 else ""
    title = " ".join(f"Photofinish: {first}{more}".split())
    body = "\n\n".join(f"{one.created_at:%Y-%m-%d %H:%M:%S} UTC  {one}\n{one.text}" for one in notices)
    return title, f"{body}\n\n{settings.SITE_URL}/status"
