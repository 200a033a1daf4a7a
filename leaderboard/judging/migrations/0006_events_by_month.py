"""Events in partitions by month. The table of before becomes the first partition; no row is moved or read."""

import django.db.models.deletion
from django.db import migrations, models

from leaderboard.audit.models import run_file


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0005_erase"),
        ("judging", "0005_events_end_before_months"),
        ("submissions", "0001_initial"),
    ]

    accepted = {
        "renaming-table": "a partitioned table takes the name in the same transaction, and the same inserts",
        "renaming-object": "the new table's index takes the name in the same transaction",
        "ban-drop-constraint": "of the last migration; the bounds of the partition hold the same",
        "ban-alter-identity": "the new table numbers the rows of all partitions, from the last id on",
    }
    operations = [
        run_file("event_months.sql", __file__),
        migrations.SeparateDatabaseAndState(
            # The constraint on (attempt, token, seq) and the index on (submission, id) serve both foreign keys.
            state_operations=[
                migrations.AlterField(
                    "attemptevent",
                    field,
                    models.ForeignKey(
                        db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="events", to=to
                    ),
                )
                for field, to in (("attempt", "judging.attempt"), ("submission", "submissions.submission"))
            ]
        ),
    ]
