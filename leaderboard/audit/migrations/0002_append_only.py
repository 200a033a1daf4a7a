from django.db import migrations

from leaderboard.audit.append_only import CREATE_FUNCTION, DROP_FUNCTION, forbid_changes


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_tables")]
    operations = [migrations.RunSQL(CREATE_FUNCTION, DROP_FUNCTION), forbid_changes("audit_row")]
