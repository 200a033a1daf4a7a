import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    accepted = {"adding-foreign-key-constraint": "the column is new and null, so PostgreSQL scans no row"}

    dependencies = [("submissions", "0014_token_key_index")]

    operations = [
        migrations.AddField(
            "submission", "verbatim_digest", models.CharField(blank=True, db_default="", default="", max_length=80)
        ),
        migrations.AddField(
            "candidate",
            "same_as",
            models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="repeats",
                to="submissions.submission",
            ),
        ),
    ]
