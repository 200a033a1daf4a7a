"""A person's own desk: a draft for each board, notes on submissions, and the welcome of a new account."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction

from leaderboard.accounts.logins import logins_of
from leaderboard.accounts.models import User
from leaderboard.errors import UserError
from leaderboard.source import MAX_SOURCE_BYTES
from leaderboard.submissions.models import Draft, Note, Submission, Welcome

MOST_DRAFTS: Final = 50  # of an account; the oldest goes first
MOST_NOTE_CHARS: Final = 2000
WELCOME_LASTS: Final = timedelta(days=14)  # pages show it no longer than this


def draft_of(user: User, slug: str) -> Draft | None:
    return Draft.objects.filter(user=user.account_id, slug=slug).first()


@transaction.atomic
def save_draft(
    *,
    user: User,
    slug: str,
    source: str,
    filename: str,
    hardware: str,
    mode: str,
    now: datetime,
    remixed_from: int | None = None,
) -> Draft | None:
    """Replace the draft of this account and board; empty code removes it. Raises UserError for too large code."""
    if not source.strip():
        drop_draft(user=user, slug=slug)
        return None
    size = len(source.encode())
    if size > MAX_SOURCE_BYTES:
        text = f"{size:,} bytes; a draft has at most {MAX_SOURCE_BYTES:,}. It is not saved: shorten it, or keep a copy"
        raise UserError("code", None, text, status=413)
    if "\x00" in source:
        raise UserError("code", None, "NUL character; a source has none. The draft is not saved: remove it")
    told: dict[str, Any] = {"source": source, "size_bytes": size, "saved_at": now, "remixed_from": remixed_from}
    for name, text, most in (("filename", filename, 100), ("hardware", hardware, 64), ("mode", mode, 16)):
        told[name] = "" if "\x00" in text or len(text) > most else text  # only sending refuses a wrong choice
    draft, is_new = Draft.objects.update_or_create(user_id=user.account_id, slug=slug, defaults=told)
    if is_new:
        kept = Draft.objects.filter(user=user.account_id).values_list("pk", flat=True)
        Draft.objects.filter(pk__in=list(kept[MOST_DRAFTS : 2 * MOST_DRAFTS])).delete()
    return draft


def drop_draft(*, user: User, slug: str) -> None:
    """Delete the draft. Its code was sent, or its author emptied or discarded it."""
    Draft.objects.filter(user=user.account_id, slug=slug).delete()


def save_note(*, user: User, submission: Submission, text: str, now: datetime) -> None:
    """Replace the person's note; an empty text removes it. The caller knows that the person sees the submission."""
    text = text.replace("\r\n", "\n").strip()
    if len(text) > MOST_NOTE_CHARS:
        raise UserError("text", None, f"{len(text):,} characters; a note has at most {MOST_NOTE_CHARS:,}", status=400)
    if "\x00" in text:
        raise UserError("text", None, "NUL character; remove it")
    if text:
        told = {"text": text, "saved_at": now}
        Note.objects.update_or_create(user_id=user.account_id, submission=submission, defaults=told)
    else:
        Note.objects.filter(user=user.account_id, submission=submission).delete()


def notes_of(user: User, submissions: Iterable[int]) -> dict[int, str]:
    """Return the person's notes by submission."""
    notes = Note.objects.filter(user=user.account_id, submission__in=list(submissions))
    return dict(notes.values_list("submission_id", "text"))


def move_to_account(account: User) -> None:
    """Give the account the notes and drafts of its linked logins.

    Of two notes on a submission its own stays, of two drafts for a board the newer.
    """
    for login in account.other_logins.all():
        noted = Note.objects.filter(user=account).values("submission")
        Note.objects.filter(user=login).exclude(submission__in=noted).update(user=account)
    drafts = Draft.objects.filter(user__in=logins_of(account))
    newest = drafts.order_by("slug", "-saved_at", "-pk").distinct("slug")
    drafts.exclude(pk__in=list(newest.values_list("pk", flat=True))).delete()
    drafts.update(user=account)


def begin_welcome(user: User, now: datetime) -> None:
    Welcome.objects.get_or_create(user_id=user.account_id, defaults={"began_at": now})


def is_welcomed(user: User, now: datetime) -> bool:
    """Return whether pages show the steps of the welcome to this person."""
    return Welcome.objects.filter(user=user.account_id, ended_at=None, began_at__gt=now - WELCOME_LASTS).exists()


def end_welcome(user: User, now: datetime) -> None:
    Welcome.objects.filter(user=user.account_id, ended_at=None).update(ended_at=now)
