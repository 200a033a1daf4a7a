import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.models import forbid_changes, run_file


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("audit", "0001_tables"),
        ("audit", "0002_append_only"),
        ("audit", "0003_forbid_truncate"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Row",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("act", models.CharField(max_length=64)),
                ("object_type", models.CharField(max_length=64)),
                ("object_id", models.CharField(max_length=64)),
                ("reason", models.TextField()),
                ("before", models.JSONField(default=dict)),
                ("after", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["object_type", "object_id"], name="audit_by_object")],
            },
        ),
        run_file("append_only.sql", __file__),
        forbid_changes("audit_row"),
    ]
