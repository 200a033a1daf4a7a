import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.models import forbid_changes


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("audit", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Incident",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("title", models.CharField(max_length=120)),
                ("began_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-began_at", "-id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("ended_at", None), ("ended_at__gte", models.F("began_at")), _connector="OR"
                        ),
                        name="incident_ends_later",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="IncidentNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("text", models.TextField()),
                ("created_at", models.DateTimeField()),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "incident",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="notes", to="operations.incident"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("event", models.CharField(max_length=64)),
                ("subject", models.CharField(max_length=200)),
                ("text", models.TextField()),
                ("created_at", models.DateTimeField()),
                ("try_at", models.DateTimeField()),
                ("tries", models.PositiveIntegerField(default=0)),
                ("failure", models.CharField(blank=True, max_length=300)),
                ("sent_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(condition=models.Q(("sent_at", None)), fields=["try_at"], name="notice_unsent"),
                    models.Index(fields=["event", "subject", "created_at"], name="notice_by_subject"),
                ],
            },
        ),
        forbid_changes("operations_incidentnote"),
    ]
