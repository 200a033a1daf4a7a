"""The sweeper's chores delete rows that nobody needs, in bounded passes, and nothing else."""

import os
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.contrib.sessions.models import Session
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from psycopg.conninfo import conninfo_to_dict

from leaderboard.inbox.models import Message, Noted
from leaderboard.judging.management.commands import sweep
from leaderboard.judging.models import Attempt, AttemptEvent
from leaderboard.operations import chores
from leaderboard.operations.models import Mail, Notice
from leaderboard.submissions.ledger import READ_LINES, levels
from leaderboard.submissions.models import Draft, QuotaLine, Welcome
from leaderboard.web.models import KeyedAnswer, RequestCount
from tests.leaderboard.stage import Stage, current

LONG_AGO = timedelta(days=100)


def test_old_sessions_counts_answers_and_notices_go(stage: Stage) -> None:
    now = timezone.now()
    ages = (timedelta(hours=1), timedelta(days=2), timedelta(days=200))
    for age, person in zip(ages, (stage.ada, stage.ben, stage.cleo), strict=True):
        then, name = now - age, str(age.days)
        Draft.objects.create(user=person, slug=name, source="x", size_bytes=1, saved_at=then)
        Welcome.objects.create(user=person, began_at=then)
        Session.objects.create(session_key=name, session_data="", expire_date=then)
        Session.objects.create(session_key=f"later{name}", session_data="", expire_date=now + age)
        RequestCount.objects.create(key=name, window_starts_at=then, count=1)
        KeyedAnswer.objects.create(account=stage.ada, key=name, digest="", created_at=then)
        Notice.objects.create(event="x", subject=name, text="", created_at=then, try_at=then, sent_at=then)
        Mail.objects.create(subject=name, sealed="", created_at=then, try_at=then, given_up_at=then)
        Message.objects.create(user=stage.ada, kind="phase", subject=name, created_at=then, updated_at=then)
        Noted.objects.create(key=name, created_at=then)
    Notice.objects.create(event="x", subject="unsent", text="", created_at=now - LONG_AGO, try_at=now)
    Mail.objects.create(subject="waiting", sealed="", created_at=now - LONG_AGO, try_at=now)
    told = {
        "sessions.Session": 3,
        "web.RequestCount": 2,
        "web.KeyedAnswer": 2,
        "accounts.DeviceLogin": 0,
        "submissions.Draft": 1,
        "submissions.Welcome": 1,
        "operations.Notice": 1,
        "operations.Mail": 1,
        "inbox.Message": 1,
        "inbox.Noted": 1,
    }
    assert chores.delete_old(now=now) == told
    assert set(chores.delete_old(now=now).values()) == {0}
    assert set(Notice.objects.values_list("subject", flat=True)) == {"0", "2", "unsent"}
    assert set(Mail.objects.values_list("subject", flat=True)) == {"0", "2", "waiting"}
    assert Session.objects.count() == 3


def test_a_pass_of_a_chore_is_bounded(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chores, "BATCH", 2)
    monkeypatch.setattr(chores, "PASS", 4)
    for number in range(7):
        RequestCount.objects.create(key=str(number), window_starts_at=timezone.now() - LONG_AGO, count=1)
    assert [chores.delete_old(now=timezone.now())["web.RequestCount"] for _ in range(3)] == [4, 3, 0]


def told(attempt: Attempt, kind: str, at: datetime) -> AttemptEvent:
    return AttemptEvent.every.create(
        submission_id=attempt.submission_id, attempt=attempt, kind=kind, state=attempt.state, created_at=at
    )


def test_progress_goes_after_the_deadline_and_states_stay(stage: Stage, settings: Any) -> None:
    settings.PROGRESS_DAYS = 30
    now = timezone.now()
    done, waiting = stage.submit(), stage.submit()
    stage.judge(done)
    old, new = now - LONG_AGO, now - timedelta(days=29)
    kept = [
        told(current(done), "state", old),
        told(current(done), "progress", new),
        told(current(waiting), "progress", old),  # not finished
    ]
    gone = told(current(done), "progress", old)
    competition = stage.board.competition
    competition.contest_at, competition.deadline = old, now + timedelta(days=1)
    competition.save()
    assert chores.purge(now=now)["events"] == 0
    competition.deadline = now - timedelta(days=1)
    competition.save()
    assert chores.purge(now=now)["events"] == 1
    found = set(AttemptEvent.every.filter(pk__in=[one.pk for one in (*kept, gone)]).values_list("pk", flat=True))
    assert found == {one.pk for one in kept}
    settings.PROGRESS_DAYS = 0
    assert "events" not in chores.purge(now=now)


def test_quota_lines_go_once_newer_lines_sum_them_up(stage: Stage, settings: Any) -> None:
    settings.UNFINISHED_AT_ONCE = settings.SUBMISSIONS_PER_HOUR = 1000
    now = timezone.now()
    submission = stage.submit()
    (line,) = submission.quota_lines.all()
    lines = [
        QuotaLine(
            user=line.user,
            board=line.board,
            mode=line.mode,
            submission=stage.submit(mode="test"),
            act=QuotaLine.GIVEN_BACK,
            filled_us=number,
            created_at=now - LONG_AGO + timedelta(minutes=number),
        )
        for number in range(READ_LINES + 10)
    ]
    QuotaLine.objects.bulk_create(lines)
    level = levels(owner=stage.ada, boards=[stage.board], now=now)[stage.board.pk, "ranked"]
    assert chores.purge(now=now)["quota_lines"] == 10  # the line of the submission is young
    assert levels(owner=stage.ada, boards=[stage.board], now=now)[stage.board.pk, "ranked"] == level
    assert chores.purge(now=now)["quota_lines"] == 0
    assert submission.quota_lines.exists()


@pytest.mark.parametrize("name", ["events", "quota_lines"])
def test_the_database_itself_keeps_the_rows_of_the_last_week(db: None, name: str) -> None:
    with pytest.raises(IntegrityError, match="never deleted"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SELECT photofinish_purge_{name}(0, 1000, now() - interval '6 days')")


def test_the_sites_role_may_purge_and_delete_nothing_itself(live_stage: Stage) -> None:
    live_stage.judge(live_stage.submit())
    name = str(connection.settings_dict["NAME"])
    role = conninfo_to_dict(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"])
    call_command("grant_site_role", str(role["user"]))
    with psycopg.connect(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"], dbname=name, autocommit=True) as site:
        old = "now() - interval '8 days'"
        assert site.execute(f"SELECT photofinish_purge_events(0, 1000, {old})").fetchone() == (0,)
        site.execute("SET photofinish.purge = 'judging_attemptevent'")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            site.execute("DELETE FROM judging_attemptevent")
    with connection.cursor() as cursor, pytest.raises(Exception, match="never changed or deleted"):
        cursor.execute("DELETE FROM judging_attemptevent")  # not even by the owner


def test_a_chore_that_fails_stops_no_other(db: None, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    def fail(*, now: datetime) -> int:
        raise OSError("the store is away")

    seen = []

    def last(*, now: datetime) -> int:
        seen.append(now)
        return 0

    monkeypatch.setattr(sweep.archive, "expire", fail)
    monkeypatch.setattr(sweep.archive, "sweep_contents", last)
    sweep.do_chores(now=timezone.now())
    assert len(seen) == 1
