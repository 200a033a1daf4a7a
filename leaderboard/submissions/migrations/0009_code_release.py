import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.append_only import forbid_changes


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0002_append_only"),
        ("submissions", "0008_quota_lines_append_only"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CodeRelease",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField()),
                (
                    "actor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "submission",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="code_release",
                        to="submissions.submission",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        forbid_changes("submissions_coderelease"),
    ]
