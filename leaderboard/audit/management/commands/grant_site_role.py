"""`grant_site_role ROLE`: give the site's database role its privileges. Each later `migrate` repeats it."""

from typing import Any, Final

from django.core.management.base import BaseCommand, CommandParser
from django.db import connection, transaction
from psycopg import sql

from leaderboard.audit.models import TABLES

# Functions of the tables' owner: they make months of events, and delete old append-only rows and erased names.
CALLED: Final = (
    "photofinish_make_event_months()",
    "photofinish_drop_event_months(timestamptz)",
    "photofinish_purge_events(bigint, bigint, timestamptz)",
    "photofinish_purge_quota_lines(bigint, bigint, timestamptz)",
    "photofinish_erase_names(bigint)",
    "photofinish_erase_worklogs(bigint)",
    "photofinish_delete_versions(bigint)",
)


class Command(BaseCommand):
    """Give the role exactly the privileges that the running site needs. The caller is the tables' owner."""

    help = "Give this database role the privileges of the running site: append-only tables cannot be changed by it."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("role")

    @transaction.atomic
    def handle(self, *args: Any, role: str, **options: Any) -> None:
        name = sql.Identifier(role)
        with connection.cursor() as cursor:
            cursor.execute(TABLES)
            for table, is_append_only in cursor.fetchall():
                place = sql.Identifier("public", table)
                changes = not is_append_only and table != "django_migrations"
                privileges = "SELECT, INSERT, UPDATE, DELETE" if changes else "SELECT, INSERT"
                cursor.execute(sql.SQL("REVOKE ALL ON {} FROM {}").format(place, name))
                cursor.execute(sql.SQL("GRANT {} ON {} TO {}").format(sql.SQL(privileges), place, name))
            for function in CALLED:
                called = sql.SQL("FUNCTION public." + function)
                cursor.execute(sql.SQL("REVOKE ALL ON {} FROM PUBLIC").format(called))
                cursor.execute(sql.SQL("GRANT EXECUTE ON {} TO {}").format(called, name))
            cursor.execute(sql.SQL("GRANT USAGE ON SCHEMA public TO {}").format(name))
            cursor.execute(sql.SQL("GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {}").format(name))
