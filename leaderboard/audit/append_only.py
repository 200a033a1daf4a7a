"""Append-only tables, enforced by the database: triggers for every role, missing privileges for the site's."""

from __future__ import annotations

import re
from pathlib import Path

from django.db import connection
from django.db.migrations import RunSQL
from psycopg import sql

TABLES = """
SELECT c.relname, EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = c.oid AND tgname = 'append_only')
  FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY c.relname
"""


def run_file(name: str, migration: str) -> RunSQL:
    """Run the SQL file of this name that lies beside the file of the migration."""
    return RunSQL((Path(migration).parent / name).read_text())


def forbid_changes(table: str) -> RunSQL:
    """Make `table` append-only; the migration must depend on audit's."""
    if not re.fullmatch(r"[a-z_]+", table):
        raise ValueError(f"{table!r} is not a table's name")
    return RunSQL(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION photofinish_append_only();"
        f"CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON {table} "
        "FOR EACH STATEMENT EXECUTE FUNCTION photofinish_append_only();",
        f"DROP TRIGGER append_only ON {table}; DROP TRIGGER append_only_truncate ON {table};",
    )


def grant_site_role(role: str) -> None:
    """Give `role` exactly the privileges that the running site needs. Call it as the tables' owner."""
    name = sql.Identifier(role)
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        tables = cursor.fetchall()
        for table, is_append_only in tables:
            place = sql.Identifier("public", table)
            changes = not is_append_only and table != "django_migrations"
            privileges = "SELECT, INSERT, UPDATE, DELETE" if changes else "SELECT, INSERT"
            cursor.execute(sql.SQL("REVOKE ALL ON {} FROM {}").format(place, name))
            cursor.execute(sql.SQL("GRANT {} ON {} TO {}").format(sql.SQL(privileges), place, name))
        cursor.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(name))
        cursor.execute(sql.SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {}").format(name))
