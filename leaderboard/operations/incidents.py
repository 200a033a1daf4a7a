"""Acts of staff on incidents. Each is audited; a note is never changed."""

from datetime import datetime
from typing import Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_staff
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.operations.models import Incident, IncidentNote

MAX_TITLE_CHARS: Final = 120
MAX_TEXT_CHARS: Final = 2_000


@transaction.atomic
def open_incident(*, title: str, text: str, actor: User, now: datetime) -> Incident:
    check_staff(actor, "write about incidents")
    check_text("title", title, MAX_TITLE_CHARS)
    incident = Incident.objects.create(title=title.strip(), began_at=now)
    add_note(incident=incident, text=text, actor=actor, now=now)
    record(act="open_incident", target=incident, actor=actor, reason=text, now=now, after={"title": incident.title})
    return incident


@transaction.atomic
def add_note(*, incident: Incident, text: str, actor: User, now: datetime, ends: bool = False) -> IncidentNote:
    """Add a note; `ends`: the incident is over."""
    check_staff(actor, "write about incidents")
    check_text("text", text, MAX_TEXT_CHARS)
    if not Incident.objects.select_for_update().filter(pk=incident.pk, ended_at=None).exists():
        raise UserError("incident", incident.title, "has ended; report another incident", status=409)
    note = IncidentNote.objects.create(incident=incident, text=text.strip(), author=actor, created_at=now)
    if ends:
        Incident.objects.filter(pk=incident.pk).update(ended_at=now)
        record(act="end_incident", target=incident, actor=actor, reason=text, now=now)
    return note


def check_text(field: str, text: str, most: int) -> None:
    if not text.strip() or len(text) > most or "\x00" in text:
        raise UserError(field, text, f"expected 1 to {most:,} characters")
