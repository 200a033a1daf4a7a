"""`migrate`, which then repeats `grant_site_role`: new tables would be closed to the site."""

from typing import Any, Final

from django.core.checks import Tags
from django.core.management import call_command
from django.core.management.commands import migrate
from django.db import connection

GRANTED: Final = """
SELECT DISTINCT r.rolname
  FROM pg_class AS c CROSS JOIN LATERAL aclexplode(c.relacl) AS given JOIN pg_roles AS r ON r.oid = given.grantee
 WHERE c.oid = to_regclass('public.audit_row') AND given.privilege_type = 'INSERT' AND r.oid <> c.relowner
"""  # roles that write audit rows without owning them


class Command(migrate.Command):
    def check(self, *args: Any, **named: Any) -> None:
        """Check settings and database alone, as before other commands."""
        super().check(*args, **{"tags": [Tags.security, Tags.database], **named})

    def handle(self, *args: Any, **options: Any) -> None:
        super().handle(*args, **options)
        if options["app_label"] or options["plan"] or options["check_unapplied"]:
            return  # not at the newest state of all tables
        with connection.cursor() as cursor:
            cursor.execute(GRANTED)
            roles = [role for (role,) in cursor.fetchall()]
        for role in roles:
            call_command("grant_site_role", role)
