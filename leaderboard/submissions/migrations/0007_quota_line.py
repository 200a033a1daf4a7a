import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0005_contests"),
        ("submissions", "0006_entrant_is_known"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="QuotaLine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("mode", models.CharField(max_length=16)),
                ("act", models.CharField(max_length=16)),
                ("filled_us", models.BigIntegerField()),
                ("created_at", models.DateTimeField()),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="quota_lines", to="competitions.board"
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="quota_lines",
                        to="submissions.submission",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="quota_lines",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["user", "board", "mode", "-id"], name="quota_line_by_bucket")],
                "constraints": [
                    models.UniqueConstraint(fields=("submission", "act"), name="one_quota_line_a_submission_and_act"),
                    models.CheckConstraint(
                        condition=models.Q(("act__in", ("spent", "given_back"))), name="quota_act_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("filled_us__gte", 0)), name="quota_level_is_not_below_zero"
                    ),
                ],
            },
        ),
    ]
