import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.models import forbid_changes


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("confirmations", "0001_tables"),
        ("confirmations", "0002_append_only"),
        ("confirmations", "0003_closing"),
        ("confirmations", "0004_one_a_runner"),
    ]

    dependencies = [
        ("audit", "0001_initial"),
        ("competitions", "0001_initial"),
        ("judging", "0001_initial"),
        ("submissions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Confirmation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hardware", models.CharField(max_length=64)),
                ("state", models.CharField(default="queued", max_length=16)),
                ("token", models.BigIntegerField(default=0)),
                ("losses", models.PositiveIntegerField(default=0)),
                ("lease_expires_at", models.DateTimeField(null=True)),
                ("hard_deadline_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("claimed_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("outcome", models.CharField(blank=True, max_length=16)),
                ("message", models.TextField(blank=True)),
                ("cause", models.CharField(max_length=16)),
                ("closed_at", models.DateTimeField(null=True)),
                ("close_reason", models.TextField(blank=True)),
                (
                    "asked_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="confirmations",
                        to="competitions.board",
                    ),
                ),
                (
                    "candidate",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="confirmations",
                        to="submissions.submission",
                    ),
                ),
                (
                    "closed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "incumbent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="submissions.submission"
                    ),
                ),
                (
                    "runner",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="judging.runner"
                    ),
                ),
                (
                    "version",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="competitions.problemversion"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Found",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("accepted", models.BooleanField()),
                ("held", models.BooleanField()),
                ("reason", models.CharField(max_length=64)),
                ("sentence", models.TextField()),
                ("gains", models.JSONField(default=list)),
                ("median_gain", models.FloatField(null=True)),
                ("least_gain", models.FloatField(null=True)),
                ("wins", models.PositiveIntegerField(default=0)),
                ("epoch", models.CharField(blank=True, max_length=64)),
                ("telemetry", models.CharField(blank=True, max_length=16)),
                ("report", models.JSONField()),
                ("created_at", models.DateTimeField()),
                (
                    "confirmation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="found",
                        to="confirmations.confirmation",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddIndex(
            model_name="confirmation",
            index=models.Index(
                condition=models.Q(("state", "queued")), fields=["hardware", "id"], name="confirmation_queue"
            ),
        ),
        migrations.AddIndex(
            model_name="confirmation",
            index=models.Index(fields=["board", "-id"], name="confirmation_by_board"),
        ),
        migrations.AddConstraint(
            model_name="confirmation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "done"), _negated=True),
                fields=("candidate", "incumbent"),
                name="one_unfinished_confirmation_a_pair",
            ),
        ),
        migrations.AddConstraint(
            model_name="confirmation",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ("queued", "running", "done"))), name="confirmation_state_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="confirmation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "running"), _negated=True),
                    models.Q(
                        ("hard_deadline_at__isnull", False),
                        ("lease_expires_at__isnull", False),
                        ("runner__isnull", False),
                        ("token__gt", 0),
                    ),
                    _connector="OR",
                ),
                name="confirmation_runs_under_a_lease",
            ),
        ),
        migrations.AddConstraint(
            model_name="confirmation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "running")), fields=("runner",), name="one_running_confirmation_a_runner"
            ),
        ),
        migrations.AddConstraint(
            model_name="confirmation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("finished_at__isnull", False),
                        ("outcome__in", ("confirmed", "refused", "failed", "held", "error", "dropped")),
                        ("state", "done"),
                    ),
                    models.Q(
                        models.Q(("state", "done"), _negated=True), ("finished_at__isnull", True), ("outcome", "")
                    ),
                    _connector="OR",
                ),
                name="confirmation_has_an_outcome_when_done",
            ),
        ),
        migrations.AddConstraint(
            model_name="confirmation",
            constraint=models.CheckConstraint(
                condition=models.Q(("cause__in", ("record", "award"))), name="confirmation_cause_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="confirmation",
            constraint=models.CheckConstraint(
                condition=models.Q(("candidate", models.F("incumbent")), _negated=True), name="confirmation_is_of_two"
            ),
        ),
        migrations.AddConstraint(
            model_name="confirmation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("close_reason", ""), ("closed_at__isnull", True), ("closed_by__isnull", True)),
                    models.Q(
                        ("closed_at__isnull", False),
                        ("closed_by__isnull", False),
                        ("outcome__in", ("failed", "held", "error")),
                        models.Q(("close_reason", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="confirmation_is_closed_with_a_reason",
            ),
        ),
        forbid_changes("confirmations_found"),
    ]
