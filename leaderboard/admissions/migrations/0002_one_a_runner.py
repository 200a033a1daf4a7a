from django.db import migrations, models
from django.db.models import Q

# A runner that holds several works on at most the newest; the others are queued again.
HAND_BACK = """
    UPDATE admissions_admissiontest
       SET state = 'queued', runner_id = NULL, lease_expires_at = NULL, hard_deadline_at = NULL
     WHERE state = 'running'
       AND id NOT IN (SELECT max(id) FROM admissions_admissiontest WHERE state = 'running' GROUP BY runner_id)
"""


class Migration(migrations.Migration):
    dependencies = [("admissions", "0001_tables"), ("judging", "0018_outages_release_drain")]

    operations = [
        migrations.RunSQL(HAND_BACK, migrations.RunSQL.noop),
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", "SET CONSTRAINTS ALL IMMEDIATE"),
        migrations.AddConstraint(
            "admissiontest",
            models.UniqueConstraint(
                fields=["runner"], condition=Q(("state", "running")), name="one_running_admission_a_runner"
            ),
        ),
    ]
