from django.db import migrations

from leaderboard.audit.append_only import FORBID_TRUNCATE


class Migration(migrations.Migration):
    dependencies = [("audit", "0002_append_only")]
    operations = [migrations.RunSQL(FORBID_TRUNCATE, migrations.RunSQL.noop)]
