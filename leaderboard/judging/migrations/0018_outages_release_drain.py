from django.db import migrations, models
from django.db.models import Q

RUNNING = ("claimed", "building", "checking", "timing")

# A runner that holds several attempts judges at most the newest; the others are queued again.
HAND_BACK = """
    UPDATE judging_attempt
       SET state = 'queued', runner_id = NULL, token = 0,
           lease_expires_at = NULL, hard_deadline_at = NULL, claimed_at = NULL
     WHERE state IN ('claimed', 'building', 'checking', 'timing')
       AND id NOT IN (SELECT max(id) FROM judging_attempt
                       WHERE state IN ('claimed', 'building', 'checking', 'timing') GROUP BY runner_id)
"""


class Migration(migrations.Migration):
    dependencies = [("judging", "0017_one_current_epoch")]

    operations = [
        migrations.CreateModel(
            name="Watch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("site_at", models.DateTimeField(null=True)),
                ("swept_at", models.DateTimeField(null=True)),
                ("back_at", models.DateTimeField(null=True)),
            ],
            options={"constraints": [models.CheckConstraint(condition=Q(("pk", 1)), name="one_watch")]},
        ),
        migrations.AddField("runner", "draining_at", models.DateTimeField(null=True)),
        migrations.AddField("runner", "greeted_at", models.DateTimeField(null=True)),
        migrations.AddField("attemptevent", "token", models.BigIntegerField(default=0)),
        migrations.RemoveConstraint("attemptevent", "one_event_a_runner_seq"),
        migrations.AddConstraint(
            "attemptevent",
            models.UniqueConstraint(fields=["attempt", "token", "seq"], name="one_event_a_claim_and_seq"),
        ),
        migrations.RunSQL(HAND_BACK, migrations.RunSQL.noop),
        # Constraint checks of what was just handed back have to run before the table can be altered.
        migrations.RunSQL("SET CONSTRAINTS ALL IMMEDIATE", "SET CONSTRAINTS ALL IMMEDIATE"),
        migrations.AddConstraint(
            "attempt",
            models.UniqueConstraint(
                fields=["runner"], condition=Q(("state__in", RUNNING)), name="one_running_attempt_a_runner"
            ),
        ),
    ]
