"""The audit row, and append-only tables for this and further apps: triggers of the database, which bind every role."""

import re
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import models
from django.db.migrations import RunSQL
from django.db.models import Q
from django.utils import timezone

TABLES: Final = """
SELECT c.relname, EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = c.oid AND tgname = 'append_only')
  FROM pg_class AS c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') ORDER BY c.relname
"""  # every table, and whether it is append-only

DESK: Final = "desk_"  # begins the names of acts of the administrator's desk


class Row(models.Model):
    """An act: actor, object, reason, and values before and after."""

    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+"
    )  # null: the site
    act = models.CharField(max_length=64)
    object_type = models.CharField(max_length=64)
    object_id = models.CharField(max_length=64)
    reason = models.TextField()
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    address = models.CharField(max_length=64, blank=True)  # network of the request; "": no request
    request = models.CharField(max_length=64, blank=True)  # its id in the log
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["object_type", "object_id"], name="audit_by_object"),
            models.Index(fields=["-id"], condition=Q(act__startswith=DESK), name="audit_of_the_desk"),
            models.Index(fields=["address", "-id"], condition=Q(act="sign_in_done"), name="audit_sign_in_by_address"),
        ]

    def __str__(self) -> str:
        return f"{self.act} {self.object_type} {self.object_id}"


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
