"""Attempt events lie in partitions by month, which are made ahead and dropped when old, and are append-only."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from deploy import backup
from leaderboard.audit.models import forbid_changes
from leaderboard.judging.models import Attempt, AttemptEvent
from leaderboard.operations import chores
from leaderboard.operations.models import Notice
from tests.leaderboard.stage import Stage, current, make_stage

TABLE = "judging_attemptevent"
LAST = ("judging", "0004_report_store")  # before partitions
# As the code of the last release writes an event.
INSERT = f"""
INSERT INTO {TABLE} (submission_id, attempt_id, token, seq, kind, state, message, data, in_shadow, created_at)
VALUES (%s, %s, 0, NULL, %s, 'done', '', '{{}}', false, %s) RETURNING id
"""


def rows(statement: str, *values: object) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchall() if cursor.description else []


def check_now() -> None:
    """Check foreign keys now: PostgreSQL changes no table whose rows await their check."""
    rows("SET CONSTRAINTS ALL IMMEDIATE")


def months() -> list[Any]:
    return rows("SELECT part::text, ends_at FROM judging_event_months WHERE ends_at IS NOT NULL ORDER BY ends_at")


def first_of(moment: datetime, *, months: int = 0) -> datetime:
    """Return the first moment of the month, or of a month before or after it."""
    count = moment.year * 12 + moment.month - 1 + months
    return datetime(count // 12, count % 12 + 1, 1, tzinfo=UTC)


def part(month: datetime, kind: str) -> str:
    return f"{TABLE}_{month:%Y_%m}_{kind}"


def part_of(event: AttemptEvent) -> str:
    return str(rows(f"SELECT tableoid::regclass::text FROM {TABLE} WHERE id = %s", event.pk)[0][0])


def event_at(attempt: Attempt, at: datetime, kind: str = "progress") -> AttemptEvent:
    return AttemptEvent.every.create(
        submission_id=attempt.submission_id, attempt=attempt, kind=kind, state=attempt.state, created_at=at
    )


@pytest.fixture
def old_stage(db: None) -> Stage:
    """Return the stage of a site whose months began half a year ago, and which has an event of before."""
    for name, _ in months()[1:]:
        rows(f"DROP TABLE {name}")
    rows(f"ALTER TABLE {TABLE} DETACH PARTITION {TABLE}_first")
    bound = first_of(timezone.now(), months=-6)
    rows(f"ALTER TABLE {TABLE} ATTACH PARTITION {TABLE}_first FOR VALUES FROM (MINVALUE) TO ('{bound}')")
    assert chores.make_event_months(now=timezone.now()) == 0
    return make_stage()


def test_events_land_in_their_month(old_stage: Stage) -> None:
    attempt, month = current(old_stage.submit()), first_of(timezone.now(), months=-2)
    assert part_of(event_at(attempt, month)) == part(month, "progress")
    assert part_of(event_at(attempt, month, "state")) == part(month, "state")
    before = month - timedelta(microseconds=1)
    assert part_of(event_at(attempt, before)) == part(before, "progress")
    assert part_of(event_at(attempt, month - timedelta(days=1000))) == f"{TABLE}_first"
    known = AttemptEvent(submission=attempt.submission, attempt=attempt, seq=1, kind="state", state="done")
    known.created_at = month
    known.save()
    known.pk = None
    with pytest.raises(IntegrityError, match="attempt_id_token_seq"), transaction.atomic():
        known.save(force_insert=True)


def test_the_chore_makes_months_ahead_once(db: None) -> None:
    now, known = timezone.now(), months()
    assert known[-1][1] > now + timedelta(days=85)
    rows(f"DROP TABLE {known[-1][0]}")
    assert chores.make_event_months(now=now) == 0
    assert months() == known
    assert chores.make_event_months(now=now) == 0
    assert months() == known
    ends = [end for _, end in known]
    assert ends[1:] == [first_of(end, months=1) for end in ends[:-1]], "no month is left out"


def test_events_outside_all_months_are_noticed_and_go_to_their_month_later(stage: Stage) -> None:
    attempt, now = current(stage.submit()), timezone.now()
    check_now()
    (name, end) = months()[-1]
    rows(f"DROP TABLE {name}")
    early, never = event_at(attempt, end - timedelta(days=1)), event_at(attempt, now + timedelta(days=9999))
    check_now()
    assert {part_of(early), part_of(never)} == {f"{TABLE}_default"}
    assert chores.make_event_months(now=now) == 1
    assert (part_of(early), part_of(never)) == (f"{name}_progress", f"{TABLE}_default")
    assert "1 events" in Notice.objects.get(event="events_outside_months").text


def test_a_months_progress_goes_as_a_whole_after_the_deadline(old_stage: Stage, settings: Any) -> None:
    settings.PROGRESS_DAYS = 30
    now, submission = timezone.now(), old_stage.submit()
    old_stage.judge(submission)
    attempt, month = current(submission), first_of(now, months=-3)
    state = event_at(attempt, month, "state")
    gone = event_at(attempt, month)
    younger = event_at(attempt, first_of(now))
    competition = old_stage.board.competition
    competition.contest_at, competition.deadline = month, now + timedelta(days=1)
    competition.save()
    check_now()
    while chores.purge(now=now)["event_months"]:
        pass  # a month without a row
    assert part_of(gone) == part(month, "progress"), "its contest runs"
    competition.deadline = now - timedelta(days=1)
    competition.save()
    assert chores.purge(now=now)["event_months"] == 1
    assert chores.purge(now=now)["event_months"] == 0
    assert (part_of(state), part_of(younger)) == (part(month, "state"), part(first_of(now), "progress"))
    assert not AttemptEvent.every.filter(pk=gone.pk).exists()
    assert not rows("SELECT FROM pg_class WHERE relname = %s", part(month, "progress"))


def test_a_month_with_needed_progress_loses_the_rest(old_stage: Stage, settings: Any) -> None:
    settings.PROGRESS_DAYS = 30
    done, waiting = old_stage.submit(), old_stage.submit()
    old_stage.judge(done)
    now = timezone.now()
    month = first_of(now, months=-3)
    gone, needed = event_at(current(done), month), event_at(current(waiting), month)
    check_now()
    assert chores.purge(now=now)["events"] == 1
    assert set(AttemptEvent.every.filter(pk__in=[gone.pk, needed.pk])) == {needed}


def test_the_database_itself_keeps_the_months_of_the_last_week(db: None) -> None:
    with pytest.raises(IntegrityError, match="never deleted"), transaction.atomic():
        rows("SELECT photofinish_drop_event_months(now() - interval '6 days')")


def test_every_part_of_the_events_is_append_only(old_stage: Stage) -> None:
    attempt, now = current(old_stage.submit()), timezone.now()
    for at in (now - timedelta(days=1000), now, now + timedelta(days=9999)):
        event_at(attempt, at)
        event_at(attempt, at, "state")
    check_now()
    full = {name for (name,) in rows(f"SELECT DISTINCT tableoid::regclass::text FROM {TABLE}")}
    this_month = first_of(now)
    assert full >= {f"{TABLE}_first", f"{TABLE}_default", part(this_month, "state"), part(this_month, "progress")}
    for name in (TABLE, f"{TABLE}_{this_month:%Y_%m}", *full):
        rows(f"ALTER TABLE {name} ENABLE TRIGGER append_only_truncate")  # the test run switches these triggers off
        for act in (f"UPDATE {name} SET message = 'other'", f"DELETE FROM {name}", f"TRUNCATE {name}"):
            with pytest.raises(IntegrityError, match="never changed or deleted"), transaction.atomic():
                rows(act)


def test_the_sites_role_uses_months_and_changes_none(live_stage: Stage) -> None:
    submission = live_stage.submit()
    role = conninfo_to_dict(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"])
    call_command("grant_site_role", str(role["user"]))
    url = make_conninfo("", **{**role, "dbname": connection.settings_dict["NAME"]})
    last = months()[-1][0]
    with psycopg.connect(url, autocommit=True) as site:
        assert site.execute("SELECT photofinish_make_event_months()").fetchone() == (0,)
        assert site.execute("SELECT photofinish_drop_event_months(now() - interval '8 days')").fetchone() == (0,)
        site.execute(INSERT, [submission.pk, current(submission).pk, "progress", timezone.now()])
        for table in (TABLE, f"{TABLE}_first", f"{TABLE}_default", last, f"{last}_state"):
            site.execute("SET photofinish.purge = 'judging_attemptevent'")
            for act in ("DELETE FROM", "TRUNCATE", "DROP TABLE", f"ALTER TABLE {TABLE} DETACH PARTITION"):
                with pytest.raises(psycopg.errors.InsufficientPrivilege):
                    site.execute(f"{act} {table}")


def test_a_submissions_events_are_read_from_its_own_months_by_index(old_stage: Stage) -> None:
    month = first_of(timezone.now(), months=-1)
    rows("SET LOCAL enable_seqscan = off")
    events = AttemptEvent.objects.since(month + timedelta(days=2)).filter(submission=1, pk__gt=7).order_by("pk")
    plan = events.explain()
    read = {
        name
        for (name,) in rows(f"SELECT relname FROM pg_class WHERE relname ~ '^{TABLE}.*' AND relkind = 'r'")
        if f"on {name} " in plan
    }
    before = {f"{TABLE}_first"} | {
        part(first_of(month, months=-back), kind) for back in range(1, 6) for kind in ("state", "progress")
    }
    assert part(month, "state") in read
    assert not read & before
    assert "Seq Scan" not in plan


@pytest.fixture
def last_release(db: None) -> Iterator[Any]:
    """Return the table of events as the last release has it, in place of the present one."""
    rows(f"DROP TABLE {TABLE} CASCADE")
    for made in ("make_event_months()", "drop_event_months(timestamptz)", "finish_event_part(text)"):
        rows(f"DROP FUNCTION photofinish_{made}")
    state = MigrationLoader(None).project_state(LAST)
    with connection.schema_editor() as editor:
        editor.create_model(state.apps.get_model("judging", "AttemptEvent"))
        forbid_changes(TABLE).database_forwards("judging", editor, state, state)
    return state


def test_the_migration_keeps_rows_ids_and_privileges_beside_the_last_release(
    last_release: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    role = str(conninfo_to_dict(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"])["user"])
    rows(f"GRANT SELECT, INSERT ON {TABLE} TO {role}")
    stage = make_stage()
    submission = stage.submit()
    stage.judge(submission)
    check_now()
    file = rows(f"SELECT pg_relation_filenode('{TABLE}')")
    known = list(AttemptEvent.every.order_by("id").values())
    state, loader = last_release, MigrationLoader(None)
    for name in ("0005_events_end_before_months", "0006_events_by_month"):
        with connection.schema_editor(atomic=False) as editor:
            for operation in loader.disk_migrations["judging", name].operations:
                after = state.clone()
                operation.state_forwards("judging", after)
                operation.database_forwards("judging", editor, state, after)
                state = after
    assert rows(f"SELECT pg_relation_filenode('{TABLE}_first')") == file, "no row is moved"
    assert list(AttemptEvent.every.order_by("id").values()) == known
    allowed = "SELECT p FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p"
    given = rows(f"{allowed} WHERE has_table_privilege(%s, '{TABLE}', p) ORDER BY p", role)
    assert given == [("INSERT",), ("SELECT",)]
    told = [submission.pk, current(submission).pk, "state"]
    (new,) = rows(INSERT, *told, timezone.now())
    (ahead,) = rows(INSERT, *told, months()[-1][1] - timedelta(days=1))
    assert (new[0], ahead[0]) == (known[-1]["id"] + 1, known[-1]["id"] + 2)
    assert part_of(AttemptEvent.every.get(pk=new[0])) == f"{TABLE}_first"
    with pytest.raises(IntegrityError, match="never changed or deleted"), transaction.atomic():
        rows(f"UPDATE {TABLE}_first SET message = ''")


def test_a_backup_of_months_comes_back_with_rows_and_triggers(live_stage: Stage, tmp_path: Path) -> None:
    submission, name = live_stage.submit(), str(connection.settings_dict["NAME"])
    event_at(current(submission), months()[-1][1] - timedelta(days=1))
    role = str(conninfo_to_dict(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"])["user"])
    url = make_conninfo(os.environ["DATABASE_URL"], dbname=name)
    place = backup.Place(url, role, dict(os.environ))
    backup.dump(url, tmp_path / "site.zip")
    fresh = backup.load(place, tmp_path / "site.zip")
    try:
        with psycopg.connect(place.at(fresh), autocommit=True) as db:
            parts = f"SELECT tableoid::regclass::text, id FROM {TABLE} ORDER BY id"
            assert db.execute(parts).fetchall() == rows(parts)
            assert db.execute("SELECT photofinish_make_event_months()").fetchone() == (0,)
            found = db.execute(
                "SELECT part::text, ends_at FROM judging_event_months WHERE ends_at IS NOT NULL ORDER BY 2"
            )
            assert found.fetchall() == months()
            with pytest.raises(psycopg.errors.RestrictViolation):
                db.execute(f"DELETE FROM {months()[-1][0]}_progress")
            db.execute(INSERT, [submission.pk, current(submission).pk, "state", timezone.now()])
    finally:
        backup.drop(place, fresh)
