from django.db import migrations, models
from django.db.models import Q

# A runner that holds several works on at most the newest; the others are queued again.
HAND_BACK = """
    UPDATE confirmations_confirmation
       SET state = 'queued', runner_id = NULL, lease_expires_at = NULL, hard_deadline_at = NULL
     WHERE state = 'running'
       AND id NOT IN (SELECT max(id) FROM confirmations_confirmation WHERE state = 'running' GROUP BY runner_id)
"""


class Migration(migrations.Migration):
    dependencies = [("confirmations", "0003_closing"), ("judging", "0018_outages_release_drain")]

    operations = [
        migrations.RunSQL(HAND_BACK, migrations.RunSQL.noop),
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", "SET CONSTRAINTS ALL IMMEDIATE"),
        migrations.AddConstraint(
            "confirmation",
            models.UniqueConstraint(
                fields=["runner"], condition=Q(("state", "running")), name="one_running_confirmation_a_runner"
            ),
        ),
    ]
