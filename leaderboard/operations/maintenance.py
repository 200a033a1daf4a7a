"""Maintenance: people read, and only staff and runners write. Each change of it is audited."""

from datetime import datetime, timedelta
from math import ceil
from typing import Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_staff
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.operations.incidents import check_text
from leaderboard.operations.models import Maintenance

MAX_SENTENCE_CHARS: Final = 300
MAX_MINUTES: Final = 7 * 24 * 60
OVERDUE_S: Final = 60  # until a writer tries again, once the announced end is past


def current() -> Maintenance | None:
    return Maintenance.objects.first()


def retry_after_s(maintenance: Maintenance, now: datetime) -> int:
    return max(OVERDUE_S, ceil((maintenance.until - now).total_seconds()))


@transaction.atomic
def begin(*, sentence: str, minutes: int, actor: User | None, now: datetime) -> Maintenance:
    """Begin maintenance, or change its sentence and end. It lasts until `end`, even beyond the announced minutes.

    `actor` None: an operator by command.
    """
    if actor is not None:
        check_staff(actor, "begin maintenance")
    check_text("sentence", sentence, MAX_SENTENCE_CHARS)
    if not 1 <= minutes <= MAX_MINUTES:
        raise UserError("minutes", minutes, f"expected 1 to {MAX_MINUTES:,}")
    changed = {"text": sentence.strip(), "until": now + timedelta(minutes=minutes)}
    found, _ = Maintenance.objects.update_or_create(pk=1, defaults=changed, create_defaults=changed | {"began_at": now})
    record(act="begin_maintenance", target=found, actor=actor, reason=found.text, now=now, after={"until": found.until})
    return found


@transaction.atomic
def end(*, actor: User | None, now: datetime) -> None:
    if actor is not None:
        check_staff(actor, "end maintenance")
    found = Maintenance.objects.select_for_update().first()
    if found is None:
        raise UserError("maintenance", None, "is not on", status=409)
    before = {"began_at": found.began_at, "until": found.until}
    record(act="end_maintenance", target=found, actor=actor, reason=found.text, now=now, before=before)
    found.delete()
