import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("admissions", "0001_tables"),
        ("admissions", "0002_one_a_runner"),
    ]

    dependencies = [
        ("competitions", "0001_initial"),
        ("judging", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AdmissionTest",
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
                ("gate", models.BooleanField(default=False)),
                ("told", models.JSONField(default=dict)),
                ("overridden_at", models.DateTimeField(null=True)),
                ("override_reason", models.TextField(blank=True)),
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
                    "overridden_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
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
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="admission_tests",
                        to="competitions.problemversion",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "queued")), fields=["hardware", "id"], name="admission_queue"
                    ),
                    models.Index(fields=["version", "hardware", "-id"], name="admission_by_version"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "done"), _negated=True),
                        fields=("version", "hardware"),
                        name="one_unfinished_admission_test",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ("queued", "running", "done"))),
                        name="admission_state_is_known",
                    ),
                    models.CheckConstraint(
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
                        name="admission_runs_under_a_lease",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "running")),
                        fields=("runner",),
                        name="one_running_admission_a_runner",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("finished_at__isnull", False),
                                ("outcome__in", ("passed", "failed", "error")),
                                ("state", "done"),
                            ),
                            models.Q(
                                models.Q(("state", "done"), _negated=True),
                                ("finished_at__isnull", True),
                                ("outcome", ""),
                            ),
                            _connector="OR",
                        ),
                        name="admission_has_an_outcome_when_done",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("overridden_at__isnull", True),
                            models.Q(
                                ("overridden_by__isnull", False), models.Q(("override_reason", ""), _negated=True)
                            ),
                            _connector="OR",
                        ),
                        name="admission_override_has_a_reason",
                    ),
                ],
            },
        ),
    ]
