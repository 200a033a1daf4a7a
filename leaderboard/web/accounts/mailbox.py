"""The mailbox of a site without a mail server: staff read every mail that the site wrote into a folder.

It exists with MAIL_URL=file:///… alone, which safety.py refuses where other machines reach the site.
"""

from dataclasses import dataclass
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from typing import Final

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

MOST: Final = 50
MOST_BYTES: Final = 100_000  # of a file
BETWEEN: Final = b"-" * 79 + b"\n"  # Django's backend writes this line after each mail


@dataclass(frozen=True)
class Mail:
    date: str
    to: str
    subject: str
    text: str


@login_required
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    if not settings.MAIL_URL.startswith("file:") or not (request.user.is_staff or request.user.is_superuser):
        raise Http404
    return render(request, "web/mailbox.html", {"mails": newest_mails(Path(settings.EMAIL_FILE_PATH))})


def newest_mails(folder: Path) -> list[Mail]:
    files = sorted(folder.glob("*.log"), key=lambda file: (file.stat().st_mtime, file.name), reverse=True)[:MOST]
    return [mail for file in files for mail in reversed(_mails_of(file))][:MOST]


def _mails_of(file: Path) -> list[Mail]:
    with file.open("rb") as source:
        written = source.read(MOST_BYTES)
    found = []
    for part in written.split(BETWEEN):
        message = message_from_bytes(part, policy=default)
        assert isinstance(message, EmailMessage)  # of this policy
        if part.strip():
            body = message.get_body(("plain",))
            date, to, subject = (str(message[name] or "") for name in ("Date", "To", "Subject"))
            found.append(Mail(date, to, subject, text="" if body is None else body.get_content()))
    return found
