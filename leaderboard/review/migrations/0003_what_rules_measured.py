import django.db.models.deletion
from django.db import migrations, models

from leaderboard.audit.append_only import forbid_changes


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0011_reference_time_epoch"),
        ("review", "0002_append_only"),
        ("audit", "0002_append_only"),
    ]

    operations = [
        migrations.AddField(
            model_name="finding",
            name="samples",
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name="finding",
            name="threshold",
            field=models.FloatField(null=True),
        ),
        migrations.CreateModel(
            name="Measurement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("values", models.JSONField(default=dict)),
                ("case_ratios", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                (
                    "result",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="measurement", to="judging.result"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        forbid_changes("review_measurement"),
    ]
