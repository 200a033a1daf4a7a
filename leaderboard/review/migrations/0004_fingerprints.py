import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.append_only import forbid_changes


class Migration(migrations.Migration):
    dependencies = [
        ("entrants", "0001_tables"),
        ("review", "0003_what_rules_measured"),
        ("submissions", "0006_entrant_is_known"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Fingerprint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.PositiveIntegerField()),
                ("prints", django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), size=None)),
                ("opaque_chars", models.PositiveIntegerField()),
                (
                    "entrant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="entrants.entrant"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "submission",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="fingerprint",
                        to="submissions.submission",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [
                    django.contrib.postgres.indexes.GinIndex(
                        fastupdate=False, fields=["prints"], name="fingerprint_by_print"
                    )
                ],
            },
        ),
        forbid_changes("review_fingerprint"),
    ]
