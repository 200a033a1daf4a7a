"""Reports move to the store of contents. The old column stays for rows of before, and for the last release's code."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("confirmations", "0001_initial"),
        ("judging", "0004_report_store"),
    ]

    operations = [
        # The column keeps its name, so that these two change no table.
        migrations.AlterField("found", "report", models.JSONField(db_column="report", default=dict)),
        migrations.RenameField("found", "report", "inline"),
        migrations.CreateModel(
            name="FoundArchived",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(db_index=True, max_length=64)),
                ("size", models.PositiveIntegerField()),
                ("phase", models.CharField(max_length=16)),
                ("created_at", models.DateTimeField()),
                ("expired_at", models.DateTimeField(null=True)),
                (
                    "of",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="archived",
                        to="confirmations.found",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "indexes": [
                    models.Index(
                        condition=models.Q(("expired_at", None)),
                        fields=["phase", "created_at"],
                        name="foundarchived_lives",
                    )
                ],
            },
        ),
    ]
