"""Announcements of a competition: publish, withdraw. A withdrawn announcement stays in the table and is hidden."""

from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.competitions.models import Announcement, Competition, Role
from leaderboard.competitions.permissions import Viewer, announcements_seen_by, check_role
from leaderboard.errors import UserError

MAX_TITLE_CHARS: Final = 200
MAX_TEXT_CHARS: Final = 20_000
IS_NEWS_FOR: Final = timedelta(days=14)


@transaction.atomic
def publish_announcement(
    *, competition: Competition, title: str, text: str, actor: User, now: datetime
) -> Announcement:
    """Publish an announcement; `text` is Markdown, like a description."""
    check_role(actor, competition, Role.OWNER, "announce something")
    title = title.strip()
    if not title or len(title) > MAX_TITLE_CHARS or not title.isprintable():
        raise UserError("title", title, f"expected 1 to {MAX_TITLE_CHARS} printable characters")
    if len(text) > MAX_TEXT_CHARS or "\x00" in text:
        raise UserError("text", text, f"expected at most {MAX_TEXT_CHARS:,} characters")
    announcement = Announcement.objects.create(
        competition=competition, author=actor, title=title, text=text, created_at=now
    )
    record("announce", announcement, actor=actor, reason=title, now=now)
    return announcement


@transaction.atomic
def withdraw_announcement(*, announcement: Announcement, actor: User, reason: str, now: datetime) -> bool:
    """Withdraw an announcement; return whether this call did."""
    check_role(actor, announcement.competition, Role.OWNER, "withdraw an announcement")
    check_reason(reason)
    if not Announcement.objects.filter(pk=announcement.pk, withdrawn_at=None).update(withdrawn_at=now):
        return False
    record("withdraw_announcement", announcement, actor=actor, reason=reason, now=now)
    return True


def announcements_of(competition: Competition, viewer: Viewer) -> QuerySet[Announcement]:
    """Return the announcements visible to the viewer, newest first."""
    return announcements_seen_by(viewer).filter(competition=competition)


def news_for(viewer: Viewer, now: datetime, competition: Competition | None = None) -> Announcement | None:
    """Return the newest announcement of the last days, of this competition or of all listed for the viewer."""
    shown = announcements_seen_by(viewer, listed=competition is None).filter(created_at__gt=now - IS_NEWS_FOR)
    shown = shown.filter(competition=competition) if competition is not None else shown
    return shown.select_related("competition").first()
