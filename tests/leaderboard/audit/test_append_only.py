"""Append-only tables are protected against TRUNCATE and against the site's own database role."""

import os
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.utils import IntegrityError
from django.utils import timezone
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from leaderboard.accounts.models import User
from leaderboard.audit import migrations
from leaderboard.audit.models import TABLES, Row
from leaderboard.audit.record import record

pytestmark = pytest.mark.django_db
SITE_ROLE = "photofinish"
OTHER_ROLE = "pg_monitor"  # each PostgreSQL has it
ERASE_NAMES = Path(migrations.__path__[0], "erase_names.sql")
ALL = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")


def append_only_tables() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        return [table for table, is_append_only in cursor.fetchall() if is_append_only]


def test_append_only_tables_refuse_truncate() -> None:
    tables = append_only_tables()
    assert {"audit_row", "judging_result", "submissions_submission", "review_decision"} <= set(tables)
    for table in tables:
        with connection.cursor() as cursor:  # the test run switches these triggers off (tests/conftest.py)
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER append_only_truncate")
            with pytest.raises(IntegrityError, match="never changed or deleted"), transaction.atomic():
                cursor.execute(f"TRUNCATE {table} CASCADE")


def test_grant_site_role_gives_append_only_tables_no_more_than_select_and_insert() -> None:
    call_command("grant_site_role", SITE_ROLE)
    append_only = append_only_tables()
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        for table, _ in cursor.fetchall():
            cursor.execute(
                "SELECT p FROM unnest(%s::text[]) AS p WHERE has_table_privilege(%s, %s, p)",
                [list(ALL), SITE_ROLE, table],
            )
            given = {privilege for (privilege,) in cursor.fetchall()}
            narrow = table in append_only or table == "django_migrations"
            assert given == ({"SELECT", "INSERT"} if narrow else {"SELECT", "INSERT", "UPDATE", "DELETE"}), table


def test_migrate_gives_the_site_role_its_privileges_on_new_tables() -> None:
    """Regression: after an upgrade that added a table, the site was refused until an operator granted them by hand."""
    with connection.cursor() as cursor:

        def may_write_after_migrate() -> bool:
            call_command("migrate", verbosity=0)
            cursor.execute("SELECT has_table_privilege(%s, 'added', 'INSERT')", [SITE_ROLE])
            return bool(cursor.fetchone()[0])

        cursor.execute("REVOKE ALL ON audit_row FROM photofinish")
        cursor.execute("CREATE TABLE added (n int)")
        assert not may_write_after_migrate(), "a role that was never the site's gets nothing"
        call_command("grant_site_role", SITE_ROLE)
        cursor.execute("REVOKE ALL ON added FROM photofinish")
        assert may_write_after_migrate()


@pytest.mark.django_db(transaction=True)
def test_the_site_role_can_neither_change_nor_unlock_an_append_only_table() -> None:
    call_command("grant_site_role", SITE_ROLE)
    parts = conninfo_to_dict(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"])
    site = make_conninfo("", **{**parts, "dbname": connection.settings_dict["NAME"]})
    for act in (
        "UPDATE audit_row SET reason = ''",
        "DELETE FROM audit_row",
        "TRUNCATE audit_row",
        "ALTER TABLE audit_row DISABLE TRIGGER append_only",
        "DROP TRIGGER append_only ON audit_row",
        "DROP TABLE audit_row",
        "CREATE OR REPLACE FUNCTION photofinish_append_only() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
        "CREATE TABLE of_its_own (n int)",
    ):
        with pytest.raises(psycopg.errors.InsufficientPrivilege), psycopg.connect(site) as db:
            db.execute(act)
    with psycopg.connect(site) as db:
        assert db.execute("SELECT count(*) FROM audit_row").fetchone() is not None


@pytest.mark.django_db(transaction=True)
def test_the_site_role_erases_names_of_recorded_erasures_alone() -> None:
    call_command("grant_site_role", SITE_ROLE)
    parts = conninfo_to_dict(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"])
    site = make_conninfo("", **{**parts, "dbname": connection.settings_dict["NAME"]})
    ada, now = User.objects.create_user("ada"), timezone.now()
    record("change_password", ada, actor=ada, reason="ada wished it", now=now)
    erase = f"SELECT photofinish_erase_names({ada.pk})"
    with pytest.raises(psycopg.errors.RestrictViolation, match="no erasure"), psycopg.connect(site) as db:
        db.execute(erase)
    record("erase_account", ada, actor=ada, now=now)
    with psycopg.connect(site) as db:
        assert db.execute(erase).fetchone() == (1,)
        assert db.execute(erase).fetchone() == (0,)
    assert Row.objects.get(act="change_password").reason == f"deleted-{ada.pk} wished it"


@pytest.mark.django_db(transaction=True)
def test_only_the_site_role_erases_worklogs() -> None:
    call_command("grant_site_role", SITE_ROLE)
    call = "photofinish_erase_worklogs(bigint)"
    with connection.cursor() as cursor:
        for role, may_call in ((SITE_ROLE, True), (OTHER_ROLE, False)):
            cursor.execute("SELECT has_function_privilege(%s, %s, 'EXECUTE')", [role, call])
            assert cursor.fetchone() == (may_call,), role
        cursor.execute("SELECT prosecdef FROM pg_proc WHERE oid = %s::regprocedure", [call])
        assert cursor.fetchone() == (True,)
    parts = conninfo_to_dict(os.environ["PHOTOFINISH_TEST_SITE_DATABASE_URL"])
    site = make_conninfo("", **{**parts, "dbname": connection.settings_dict["NAME"]})
    ada = User.objects.create_user("ada")
    erase = f"SELECT photofinish_erase_worklogs({ada.pk})"
    with pytest.raises(psycopg.errors.RestrictViolation, match="no erasure"), psycopg.connect(site) as db:
        db.execute(erase)
    with pytest.raises(psycopg.errors.InsufficientPrivilege), psycopg.connect(site) as db:
        db.execute("DELETE FROM matches_handin")
    record("erase_account", ada, actor=ada, now=timezone.now())
    with psycopg.connect(site) as db:
        assert db.execute(erase).fetchone() == (0,)


def test_agents_of_people_erased_earlier_name_no_owner() -> None:
    ada, ben = (User.objects.create_user(name) for name in ("deleted-7", "ben"))
    made = [
        record("create_agent", ada, actor=owner, now=timezone.now(), after={"owner": name})
        for owner, name in ((ada, "ada"), (ben, "ben"))
    ]
    record("erase_account", ada, actor=ada, now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(ERASE_NAMES.read_text())
    rows = Row.objects.in_bulk([row.pk for row in made])
    assert [rows[row.pk].after for row in made] == [{"owner": f"deleted-{ada.pk}"}, {"owner": "ben"}]


def test_even_an_erasure_changes_nothing_but_texts() -> None:
    row = record("x", User.objects.create_user("ada"), actor=None, now=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL photofinish.erase = 'audit_row'")
        cursor.execute("UPDATE audit_row SET reason = 'y' WHERE id = %s", [row.pk])
        for change in ("act = 'y'", "actor_id = 1", "created_at = now()", "object_id = '7'"):
            with pytest.raises(IntegrityError, match="never changed"), transaction.atomic():
                cursor.execute(f"UPDATE audit_row SET {change} WHERE id = %s", [row.pk])
