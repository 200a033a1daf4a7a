import uuid

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.models import forbid_changes, run_file


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("standings", "0001_tables"),
        ("standings", "0002_order_by_ratio"),
        ("standings", "0003_entry_code"),
        ("standings", "0004_entry_epoch"),
        ("standings", "0005_entry_trust"),
        ("standings", "0006_entry_entrant"),
        ("standings", "0007_retraction"),
        ("standings", "0008_revision"),
        ("standings", "0009_entry_light"),
        ("standings", "0010_changes"),
        ("standings", "0011_entry_front"),
        ("standings", "0013_pin_contests"),
        ("standings", "0014_measured_time"),
    ]

    dependencies = [
        ("audit", "0001_initial"),
        ("competitions", "0001_initial"),
        ("entrants", "0001_initial"),
        ("judging", "0001_initial"),
        ("submissions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Revision",
            fields=[
                (
                    "board",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="competitions.board",
                    ),
                ),
                ("token", models.UUIDField(default=uuid.uuid4)),
            ],
        ),
        migrations.CreateModel(
            name="Change",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("token", models.UUIDField()),
                (
                    "board",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="competitions.board",
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="submissions.submission",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["board", "id"], name="change_by_board")],
            },
        ),
        migrations.CreateModel(
            name="Entry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("score_us", models.FloatField()),
                ("ratio", models.FloatField()),
                ("half_width", models.FloatField(null=True)),
                ("epoch", models.CharField(blank=True, max_length=64)),
                ("code_digest", models.CharField(max_length=80)),
                ("forgeable", models.FloatField(null=True)),
                ("telemetry", models.CharField(blank=True, max_length=16)),
                ("light", models.FloatField(null=True)),
                ("submitted_at", models.DateTimeField()),
                ("published_at", models.DateTimeField()),
                (
                    "attempt",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entry", to="judging.attempt"
                    ),
                ),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entries", to="competitions.board"
                    ),
                ),
                (
                    "entrant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entries", to="entrants.entrant"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entries", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "submission",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="entry", to="submissions.submission"
                    ),
                ),
            ],
            options={
                "ordering": ["ratio", "submitted_at", "submission_id"],
                "indexes": [
                    models.Index(
                        fields=["board", "epoch", "ratio", "id"],
                        include=("entrant", "submitted_at"),
                        name="entry_front",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("ratio__gt", 0), ("score_us__gt", 0)), name="entry_numbers_are_positive"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("telemetry", "none"), _negated=True), name="entry_was_watched"
                    ),
                ],
            },
        ),
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
        run_file("revisions.sql", __file__),
        forbid_changes("standings_retraction"),
    ]
