import django.db.models.deletion
from django.db import migrations, models

from leaderboard.audit.append_only import forbid_changes


class Migration(migrations.Migration):
    dependencies = [
        ("review", "0008_suspension"),
        ("submissions", "0008_quota_lines_append_only"),
    ]

    operations = [
        migrations.CreateModel(
            name="Hint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("checker", models.CharField(max_length=64)),
                ("words", models.JSONField(default=list)),
                ("failure", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField()),
                (
                    "submission",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="hint", to="submissions.submission"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        forbid_changes("review_hint"),
    ]
