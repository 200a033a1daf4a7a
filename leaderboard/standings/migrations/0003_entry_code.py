from django.db import migrations, models

NAME_OLD_LINES = """
UPDATE standings_entry AS entry SET code_digest = submission.source_digest
  FROM submissions_submission AS submission WHERE submission.id = entry.submission_id;
"""


class Migration(migrations.Migration):
    dependencies = [("standings", "0002_order_by_ratio"), ("submissions", "0003_code_digest")]
    operations = [
        migrations.AddField(
            model_name="entry",
            name="code_digest",
            field=models.CharField(default="", max_length=80),
            preserve_default=False,
        ),
        migrations.RunSQL(NAME_OLD_LINES, migrations.RunSQL.noop),
    ]
