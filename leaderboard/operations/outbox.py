"""The outbox: a mail is a row, written in the transaction of its cause, until the mail server has taken it.

Django's mail backend of a site with a mail server writes the row, so no request waits for that server, and an act that
is rolled back sends nothing. The sweeper sends the mail with MAIL_BACKEND and deletes the row. Links in mails open
accounts: a row's text is sealed, and neither log nor record repeats the answer of the mail server to it.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from email.utils import formatdate, make_msgid
from smtplib import SMTPDataError, SMTPRecipientsRefused, SMTPResponseException, SMTPSenderRefused
from typing import Final

import structlog
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.core.mail.backends.base import BaseEmailBackend
from django.core.mail.utils import DNS_NAME
from django.db import transaction
from django.utils import timezone

from leaderboard.accounts.tokens import seal, unseal
from leaderboard.operations.models import Mail
from leaderboard.operations.notices import tell_operators

SEND_EVERY_S: Final = 1.0
WAITS: Final = (timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=10), timedelta(hours=1))  # after a try
GIVE_UP: Final = timedelta(days=1)
LEASE: Final = timedelta(minutes=10)  # longer than any try; then another sweeper tries
FIELDS: Final = ("subject", "body", "from_email", "to", "cc", "bcc", "reply_to")
REFUSED: Final = (SMTPRecipientsRefused, SMTPSenderRefused, SMTPDataError)  # a mail; otherwise the server is away

log = structlog.get_logger(__name__)


class EmailBackend(BaseEmailBackend):
    """Django's mail backend that puts plain mails into the outbox."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        now, rows = timezone.now(), []
        for message in email_messages:
            if message.attachments or getattr(message, "alternatives", None) or message.content_subtype != "plain":
                raise ValueError(f"mail {message.subject!r}: the outbox takes plain text without attachments")
            headers = {"Date": formatdate(now.timestamp()), "Message-ID": make_msgid(domain=DNS_NAME.get_fqdn())}
            packed = {name: getattr(message, name) for name in FIELDS}
            sealed = seal(json.dumps(packed | {"headers": headers | dict(message.extra_headers)}, default=str))
            rows.append(Mail(subject=str(message.subject)[:200], sealed=sealed, created_at=now, try_at=now))
        return len(Mail.objects.bulk_create(rows))


def send_mails(*, now: datetime) -> int:
    """Send the mails that are due, and return their number. A server that is away ends the pass.

    A sweeper that dies between sending and deleting sends the mail twice, with the same Message-ID.
    """
    count = 0
    while (mail := _claim(now)) is not None:
        try:
            message = EmailMessage(**json.loads(unseal(mail.sealed)), connection=get_connection(settings.MAIL_BACKEND))
            message.send()
        except Exception as error:  # any: a mail that cannot be composed must not stop the others
            _note_failure(mail, error, now)
            if isinstance(error, OSError) and not isinstance(error, REFUSED):
                break
        else:
            Mail.objects.filter(pk=mail.pk).delete()
            count += 1
            log.info("mail_sent", mail=mail.pk, tries=mail.tries + 1)
    return count


@transaction.atomic
def _claim(now: datetime) -> Mail | None:
    due = Mail.objects.select_for_update(skip_locked=True).filter(given_up_at=None, try_at__lte=now)
    mail = due.order_by("try_at", "pk").first()
    if mail is not None:
        mail.try_at = timezone.now() + LEASE  # not from `now`, when the pass began: a pass may last longer
        mail.save(update_fields=["try_at"])
    return mail


@transaction.atomic
def _note_failure(mail: Mail, error: Exception, now: datetime) -> None:
    mail.failure, is_final = _words(error)
    mail.try_at = timezone.now() + WAITS[min(mail.tries, len(WAITS) - 1)]
    mail.tries += 1
    log.warning("mail_not_sent", mail=mail.pk, subject=mail.subject, tries=mail.tries, error=mail.failure)
    if is_final or now - mail.created_at >= GIVE_UP:
        mail.given_up_at, mail.sealed = now, ""
        text = f"“{mail.subject}” was not sent after {mail.tries} tries. Last: {mail.failure}"
        tell_operators("mail_given_up", text, subject=settings.EMAIL_HOST, now=now, mail=mail.pk)
    mail.save()


def _words(error: Exception) -> tuple[str, bool]:
    """Return the failure in words without any text of the mail or its address, and whether another try is pointless."""
    match error:
        case SMTPRecipientsRefused():
            codes = {code for code, _ in error.recipients.values()}
            return f"the server refuses the recipient: {min(codes)}", min(codes) >= 500
        case SMTPResponseException():
            return f"{type(error).__name__}: {error.smtp_code}", False
        case OSError():
            return f"{type(error).__name__}: {error}"[:300], False
    return type(error).__name__, False
