"""For migrations: make a table append-only in the database itself, where no code path and no console passes it by."""

from __future__ import annotations

import re

from django.db.migrations import RunSQL

CREATE_FUNCTION = """
CREATE FUNCTION photofinish_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are never changed or deleted', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;
"""
DROP_FUNCTION = "DROP FUNCTION photofinish_append_only();"


def forbid_changes(table: str) -> RunSQL:
    """A trigger on `table`; the migration must depend on audit's 0002_append_only."""
    if not re.fullmatch(r"[a-z_]+", table):
        raise ValueError(f"{table!r} is not a table's name")
    return RunSQL(
        f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION photofinish_append_only();",
        f"DROP TRIGGER append_only ON {table};",
    )
