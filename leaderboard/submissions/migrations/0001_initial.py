import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.models import forbid_changes


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("submissions", "0001_tables"),
        ("submissions", "0002_append_only"),
        ("submissions", "0003_code_digest"),
        ("submissions", "0004_entrant"),
        ("submissions", "0005_entrants_of_old_ones"),
        ("submissions", "0006_entrant_is_known"),
        ("submissions", "0007_quota_line"),
        ("submissions", "0008_quota_lines_append_only"),
        ("submissions", "0009_code_release"),
    ]

    dependencies = [
        ("audit", "0001_initial"),
        ("competitions", "0001_initial"),
        ("entrants", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Submission",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("mode", models.CharField(max_length=16)),
                ("filename", models.CharField(max_length=100)),
                ("source", models.TextField()),
                ("source_digest", models.CharField(max_length=80)),
                ("code_digest", models.CharField(blank=True, max_length=80)),
                ("size_bytes", models.PositiveIntegerField()),
                ("licence", models.CharField(blank=True, max_length=32)),
                ("created_at", models.DateTimeField()),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="submissions", to="competitions.board"
                    ),
                ),
                (
                    "entrant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="submissions", to="entrants.entrant"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="submissions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="QuotaLine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("mode", models.CharField(max_length=16)),
                ("act", models.CharField(max_length=16)),
                ("filled_us", models.BigIntegerField()),
                ("created_at", models.DateTimeField()),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="quota_lines", to="competitions.board"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="quota_lines",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "submission",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="quota_lines",
                        to="submissions.submission",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
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
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(fields=["owner", "-created_at"], name="submission_by_owner"),
        ),
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(fields=["board", "-created_at"], name="submission_by_board"),
        ),
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(fields=["entrant", "board"], name="submission_by_entrant"),
        ),
        migrations.AddConstraint(
            model_name="submission",
            constraint=models.CheckConstraint(
                condition=models.Q(("mode__in", ("test", "benchmark", "ranked"))), name="submission_mode_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="submission",
            constraint=models.CheckConstraint(
                condition=models.Q(("size_bytes__gt", 0), ("size_bytes__lte", 1000000)),
                name="submission_size_in_limits",
            ),
        ),
        migrations.AddConstraint(
            model_name="submission",
            constraint=models.CheckConstraint(
                condition=models.Q(("source_digest__regex", "^sha256:[0-9a-f]{64}$")),
                name="submission_digest_is_sha256",
            ),
        ),
        migrations.AddConstraint(
            model_name="submission",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("code_digest", ""), ("code_digest__regex", "^(tokens|text)[0-9]+:[0-9a-f]{64}$"), _connector="OR"
                ),
                name="submission_code_digest_says_its_kind",
            ),
        ),
        migrations.AddIndex(
            model_name="quotaline",
            index=models.Index(fields=["user", "board", "mode", "-id"], name="quota_line_by_bucket"),
        ),
        migrations.AddConstraint(
            model_name="quotaline",
            constraint=models.UniqueConstraint(
                fields=("submission", "act"), name="one_quota_line_a_submission_and_act"
            ),
        ),
        migrations.AddConstraint(
            model_name="quotaline",
            constraint=models.CheckConstraint(
                condition=models.Q(("act__in", ("spent", "given_back"))), name="quota_act_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="quotaline",
            constraint=models.CheckConstraint(
                condition=models.Q(("filled_us__gte", 0)), name="quota_level_is_not_below_zero"
            ),
        ),
        forbid_changes("submissions_submission"),
        forbid_changes("submissions_quotaline"),
        forbid_changes("submissions_coderelease"),
    ]
