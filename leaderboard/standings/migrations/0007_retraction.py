import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.append_only import forbid_changes


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0005_contests"),
        ("entrants", "0001_tables"),
        ("audit", "0002_append_only"),
        ("standings", "0006_entry_entrant"),
        ("submissions", "0006_entrant_is_known"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Retraction",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("code_digest", models.CharField(max_length=80)),
                ("act", models.CharField(max_length=16)),
                ("reason", models.TextField()),
                ("created_at", models.DateTimeField()),
                (
                    "actor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="competitions.board"
                    ),
                ),
                (
                    "entrant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="entrants.entrant"
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="submissions.submission"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["entrant", "board", "code_digest"], name="retraction_by_kernel")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("act__in", ("retract", "restore"))), name="retraction_act_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="retraction_has_a_reason"
                    ),
                ],
            },
        ),
        forbid_changes("standings_retraction"),
    ]
