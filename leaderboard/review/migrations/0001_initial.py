import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.models import forbid_changes


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("review", "0001_tables"),
        ("review", "0002_append_only"),
        ("review", "0003_what_rules_measured"),
        ("review", "0004_fingerprints"),
        ("review", "0005_log_of_decisions"),
        ("review", "0006_case"),
        ("review", "0007_cases_of_before"),
        ("review", "0008_suspension"),
        ("review", "0009_hints"),
        ("review", "0010_cases_by_age"),
        ("review", "0011_held_along"),
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
        migrations.CreateModel(
            name="Case",
            fields=[
                (
                    "result",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="case",
                        serialize=False,
                        to="judging.result",
                    ),
                ),
                ("origin", models.CharField(max_length=16)),
                ("opened_at", models.DateTimeField()),
                ("state", models.CharField(max_length=16)),
                ("since", models.DateTimeField()),
                ("is_by_itself", models.BooleanField(default=False)),
                ("claimed_until", models.DateTimeField(null=True)),
                (
                    "labels",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), default=list, size=None
                    ),
                ),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="competitions.board"
                    ),
                ),
                (
                    "claimed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["opened_at", "result_id"],
                "indexes": [
                    models.Index(fields=["board", "state"], name="case_by_board"),
                    models.Index(fields=["opened_at", "result"], name="case_by_age"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "state__in",
                                ("waiting", "asked", "half_cleared", "cleared", "rejected", "appealed", "not_held"),
                            )
                        ),
                        name="case_state_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("origin__in", ("held", "by_itself"))), name="case_origin_is_known"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("act", models.CharField(max_length=16)),
                ("code", models.CharField(blank=True, max_length=32)),
                ("reason", models.TextField()),
                ("public_reason", models.TextField(blank=True)),
                ("rank", models.PositiveIntegerField(null=True)),
                ("needs_two", models.BooleanField(default=False)),
                ("until", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "about",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="review.decision"
                    ),
                ),
                (
                    "actor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "result",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="decisions", to="judging.result"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "act__in",
                                (
                                    "claim",
                                    "release",
                                    "ask",
                                    "answer",
                                    "clear",
                                    "reject",
                                    "overturn",
                                    "appeal",
                                    "uphold",
                                    "grant",
                                    "undo",
                                    "note",
                                    "label",
                                    "unlabel",
                                    "hold",
                                    "hold_along",
                                    "rerun",
                                ),
                            )
                        ),
                        name="decision_act_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="decision_has_a_reason"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("act__in", ("undo", "answer", "appeal"))),
                        fields=("about", "act"),
                        name="one_undoing_answer_and_appeal_a_decision",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("act", "claim"), ("until__isnull", False)),
                            models.Q(models.Q(("act", "claim"), _negated=True), ("until__isnull", True)),
                            _connector="OR",
                        ),
                        name="decision_until_of_claims_only",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("rule", models.CharField(max_length=64)),
                ("threshold", models.FloatField(null=True)),
                ("sentence", models.TextField()),
                ("figures", models.JSONField(default=dict)),
                ("samples", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                (
                    "result",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="findings", to="judging.result"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("result", "rule"), name="one_finding_a_result_and_rule")
                ],
            },
        ),
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
        migrations.CreateModel(
            name="Suspension",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
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
                    "competition",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="competitions.competition",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="suspensions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("act__in", ("suspend", "reinstate"))), name="suspension_act_is_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="suspension_has_a_reason"
                    ),
                ],
            },
        ),
        forbid_changes("review_finding"),
        forbid_changes("review_decision"),
        forbid_changes("review_measurement"),
        forbid_changes("review_fingerprint"),
        forbid_changes("review_suspension"),
        forbid_changes("review_hint"),
    ]
