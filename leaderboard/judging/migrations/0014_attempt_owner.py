import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

FILL = """
UPDATE judging_attempt AS attempt
   SET owner_id = submission.owner_id, is_ranked = submission.mode = 'ranked', sent_at = submission.created_at
  FROM submissions_submission AS submission
 WHERE submission.id = attempt.submission_id
"""


class Migration(migrations.Migration):
    """0015 forbids null: PostgreSQL does not do that in the transaction that fills the columns."""

    dependencies = [
        ("judging", "0013_away_from"),
        ("submissions", "0009_code_release"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(model_name="attempt", name="is_ranked", field=models.BooleanField(null=True)),
        migrations.AddField(model_name="attempt", name="sent_at", field=models.DateTimeField(null=True)),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
