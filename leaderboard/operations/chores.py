"""Months of events ahead, and rows that nobody needs any more: expired sessions, counts, keyed answers, sent notices,
old progress and quota lines.

The sweeper runs these once an hour. A pass is bounded, and any number of sweepers may run at once. Tables of apps above
this app are named by label.
"""

import random
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import structlog
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection

from leaderboard.operations.notices import tell_operators

BATCH: Final = 1_000  # rows of a statement
PASS: Final = 20_000  # rows of a table in a pass
WINDOW: Final = 50_000  # ids of a call of a purging function
WINDOWS: Final = 20  # of a pass


class Old(NamedTuple):
    """Rows that are deleted when this time is past by `age`."""

    table: str
    time: str
    age: timedelta


OLD: Final = (
    Old("sessions.Session", "expire_date", timedelta(0)),
    Old("web.RequestCount", "window_starts_at", timedelta(days=1)),  # longer than any window
    Old("web.KeyedAnswer", "created_at", timedelta(days=1)),  # as long as a key repeats its answer
    Old("accounts.DeviceLogin", "expires_at", timedelta(hours=1)),
    Old("submissions.Draft", "saved_at", timedelta(days=180)),
    Old("submissions.Welcome", "began_at", timedelta(days=30)),
    Old("operations.Notice", "sent_at", timedelta(days=90)),
    Old("operations.Mail", "given_up_at", timedelta(days=90)),
    Old("inbox.Message", "updated_at", timedelta(days=90)),
    Old("inbox.Noted", "created_at", timedelta(days=30)),
)

log = structlog.get_logger(__name__)


def delete_old(*, now: datetime) -> dict[str, int]:
    """Delete rows of the tables in OLD; return their numbers."""
    counts = {}
    for table, time, age in OLD:
        model, deleted = apps.get_model(table), 0
        due = model._default_manager.filter(**{f"{time}__lt": now - age}).order_by(time).values_list("pk", flat=True)
        while deleted < PASS and (keys := list(due[:BATCH])):
            deleted += model._default_manager.filter(pk__in=keys, **{f"{time}__lt": now - age}).delete()[0]
        counts[table] = deleted
    return counts


def forget_sessions(*, now: datetime) -> int:
    """Delete what the account pages list of sessions that have ended: addresses and browsers."""
    listed = UserSession.objects.exclude(session_key__in=Session.objects.filter(expire_date__gt=now).values("pk"))
    deleted: int = listed.filter(pk__in=list(listed.values_list("pk", flat=True)[:PASS])).delete()[0]
    return deleted


def make_event_months(*, now: datetime) -> int:
    """Make the partitions of the coming months, and return the number of events that no month holds."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT photofinish_make_event_months()")
        outside: int = cursor.fetchone()[0]
    if outside:
        text = (
            f"{outside} events in judging_attemptevent_default have a time outside all months. Check the hosts' clocks."
        )
        tell_operators("events_outside_months", text, subject="judging_attemptevent", now=now)
    return outside


def purge(*, now: datetime) -> dict[str, int]:
    """Delete old rows of append-only tables through the database's own functions; return their numbers.

    Events go by whole months: a month's progress is dropped at once if no row of it is needed. A long table is purged
    in parts, which begin at a random id: a pass needs no memory of the last.
    """
    days = {"events": settings.PROGRESS_DAYS, "quota_lines": settings.QUOTA_LINE_DAYS}
    tables = {"events": "judging_attemptevent", "quota_lines": "submissions_quotaline"}
    counts = {}
    for name, table in tables.items():
        if not days[name]:
            continue
        before = now - timedelta(days=days[name])
        with connection.cursor() as cursor:
            if name == "events":
                before = before.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
                cursor.execute("SELECT photofinish_drop_event_months(%s)", [before])
                counts["event_months"] = cursor.fetchone()[0]
            cursor.execute(f"SELECT min(id), max(id) FROM {table}")  # noqa: S608 - a name of ours
            least, most = cursor.fetchone()
            if most is None:
                continue
            windows = range(least - 1, most, WINDOW)
            begin = random.randrange(max(1, len(windows) - WINDOWS + 1))  # noqa: S311 - no secret
            deleted = 0
            for after in windows[begin : begin + WINDOWS]:
                told: list[Any] = [after, after + WINDOW, before]
                cursor.execute(f"SELECT photofinish_purge_{name}(%s, %s, %s)", told)
                deleted += cursor.fetchone()[0]
            counts[name] = deleted
    return counts
