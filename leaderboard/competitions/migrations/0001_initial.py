import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import leaderboard.competitions.models
from leaderboard.audit.models import forbid_changes


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("competitions", "0001_tables"),
        ("competitions", "0002_append_only"),
        ("competitions", "0003_set_upload"),
        ("competitions", "0004_set_upload_choices"),
        ("competitions", "0005_contests"),
        ("competitions", "0006_edited_here"),
        ("competitions", "0007_code_opens_all"),
        ("competitions", "0008_default_licence"),
    ]

    dependencies = [
        ("audit", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Problem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=64, unique=True)),
                ("title", models.CharField(max_length=200)),
            ],
            options={
                "ordering": ["slug"],
            },
        ),
        migrations.CreateModel(
            name="Competition",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=64, unique=True)),
                ("name", models.CharField(max_length=128)),
                ("description", models.TextField(blank=True)),
                ("rules", models.TextField(blank=True)),
                ("visibility", models.CharField(default="public", max_length=16)),
                ("practice_at", models.DateTimeField(blank=True, null=True)),
                ("contest_at", models.DateTimeField(blank=True, null=True)),
                ("freeze_at", models.DateTimeField(blank=True, null=True)),
                ("deadline", models.DateTimeField(blank=True, null=True)),
                ("revealed_at", models.DateTimeField(blank=True, null=True)),
                ("final_at", models.DateTimeField(blank=True, null=True)),
                ("stays_open", models.BooleanField(default=True)),
                (
                    "divisions",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16),
                        default=leaderboard.competitions.models.every_division,
                        size=None,
                    ),
                ),
                ("max_team_size", models.PositiveIntegerField(default=1)),
                ("merge_deadline", models.DateTimeField(blank=True, null=True)),
                ("scoring", models.CharField(default="geometric_mean", max_length=16)),
                ("two_person_rule", models.BooleanField(default=False)),
                ("thresholds", models.JSONField(blank=True, default=dict)),
                ("default_licence", models.CharField(default="MIT", max_length=32)),
                ("quotas", models.JSONField(blank=True, default=dict)),
                (
                    "edited",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), blank=True, default=list, size=None
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("visibility__in", ("public", "unlisted", "closed"))),
                        name="competition_visibility_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("scoring__in", ("geometric_mean", "points", "fast_p"))),
                        name="competition_scoring_is_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("divisions__contained_by", ["human", "agent", "mixed"]),
                            models.Q(("divisions", []), _negated=True),
                        ),
                        name="competition_divisions_are_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("max_team_size__gte", 1), ("max_team_size__lte", 100)),
                        name="competition_team_size_in_limits",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("practice_at__isnull", True),
                            ("contest_at__isnull", True),
                            ("practice_at__lte", models.F("contest_at")),
                            _connector="OR",
                        ),
                        name="competition_practice_at_before_contest_at",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("contest_at__isnull", True),
                            ("freeze_at__isnull", True),
                            ("contest_at__lte", models.F("freeze_at")),
                            _connector="OR",
                        ),
                        name="competition_contest_at_before_freeze_at",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("contest_at__isnull", True),
                            ("deadline__isnull", True),
                            ("contest_at__lte", models.F("deadline")),
                            _connector="OR",
                        ),
                        name="competition_contest_at_before_deadline",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("freeze_at__isnull", True),
                            ("deadline__isnull", True),
                            ("freeze_at__lte", models.F("deadline")),
                            _connector="OR",
                        ),
                        name="competition_freeze_at_before_deadline",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("deadline__isnull", True),
                            ("final_at__isnull", True),
                            ("deadline__lte", models.F("final_at")),
                            _connector="OR",
                        ),
                        name="competition_deadline_before_final_at",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Announcement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("title", models.CharField(max_length=200)),
                ("text", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("withdrawn_at", models.DateTimeField(null=True)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "competition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="announcements",
                        to="competitions.competition",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="ProblemVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=80, unique=True)),
                ("bundle", models.JSONField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="versions", to="competitions.problem"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Board",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=64)),
                ("hardware", models.CharField(max_length=64)),
                ("deadline", models.DateTimeField(blank=True, null=True)),
                (
                    "tags",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), blank=True, default=list, size=None
                    ),
                ),
                (
                    "edited",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), blank=True, default=list, size=None
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "competition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="boards",
                        to="competitions.competition",
                    ),
                ),
                (
                    "problem",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="boards", to="competitions.problem"
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
                "ordering": ["slug", "hardware"],
            },
        ),
        migrations.CreateModel(
            name="Role",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("role", models.CharField(max_length=16)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "competition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="roles", to="competitions.competition"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="roles", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="SetUpload",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("filename", models.CharField(max_length=200)),
                ("digest", models.CharField(max_length=80)),
                ("data", models.BinaryField()),
                ("hardware", models.JSONField(default=list)),
                ("without_deadlines", models.BooleanField(default=False)),
                ("report", models.JSONField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("applied_at", models.DateTimeField(blank=True, null=True)),
                (
                    "actor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Track",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(max_length=64)),
                ("name", models.CharField(max_length=128)),
                ("description", models.TextField(blank=True)),
                ("kind", models.CharField(max_length=16)),
                ("params", models.JSONField(blank=True, default=dict)),
                (
                    "divisions",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=16),
                        default=leaderboard.competitions.models.every_division,
                        size=None,
                    ),
                ),
                ("eligibility", models.TextField(blank=True)),
                ("tie_rule", models.CharField(default="earlier", max_length=16)),
                ("position", models.PositiveIntegerField(default=0)),
                (
                    "competition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tracks",
                        to="competitions.competition",
                    ),
                ),
            ],
            options={
                "ordering": ["position", "id"],
            },
        ),
        migrations.CreateModel(
            name="Prize",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("place", models.PositiveIntegerField()),
                ("amount", models.DecimalField(blank=True, decimal_places=2, max_digits=12, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("sponsor", models.CharField(blank=True, max_length=128)),
                ("text", models.CharField(blank=True, max_length=200)),
                (
                    "track",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="prizes", to="competitions.track"
                    ),
                ),
            ],
            options={
                "ordering": ["track_id", "place"],
            },
        ),
        migrations.CreateModel(
            name="InviteCode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("opens_all", models.BooleanField(default=False)),
                ("prefix", models.CharField(max_length=16)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("note", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                ("boards", models.ManyToManyField(related_name="+", to="competitions.board")),
                (
                    "competition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="invite_codes",
                        to="competitions.competition",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "used_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("used_at__isnull", True), ("used_by__isnull", True)),
                            models.Q(("used_at__isnull", False), ("used_by__isnull", False)),
                            _connector="OR",
                        ),
                        name="invite_code_used_by_somebody",
                    )
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="problemversion",
            constraint=models.CheckConstraint(
                condition=models.Q(("digest__regex", "^sha256:[0-9a-f]{64}$")), name="version_digest_is_sha256"
            ),
        ),
        migrations.AddConstraint(
            model_name="board",
            constraint=models.UniqueConstraint(fields=("slug", "hardware"), name="one_board_a_slug_and_hardware"),
        ),
        migrations.AddConstraint(
            model_name="role",
            constraint=models.UniqueConstraint(fields=("competition", "user"), name="one_role_a_competition_and_user"),
        ),
        migrations.AddConstraint(
            model_name="role",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ("viewer", "reviewer", "owner"))), name="role_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="track",
            constraint=models.UniqueConstraint(fields=("competition", "slug"), name="one_track_a_slug"),
        ),
        migrations.AddConstraint(
            model_name="track",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ("overall", "hardware", "board", "tag", "first_to_beat"))),
                name="track_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="track",
            constraint=models.CheckConstraint(
                condition=models.Q(("tie_rule__in", ("earlier", "share"))), name="track_tie_rule_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="prize",
            constraint=models.UniqueConstraint(fields=("track", "place"), name="one_prize_a_place"),
        ),
        migrations.AddConstraint(
            model_name="prize",
            constraint=models.CheckConstraint(condition=models.Q(("place__gte", 1)), name="prize_place_from_one"),
        ),
        migrations.AddConstraint(
            model_name="prize",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("amount__isnull", True), ("currency", "")),
                    models.Q(("amount__gt", 0), ("currency__regex", "^[A-Z]{3}$")),
                    _connector="OR",
                ),
                name="prize_amount_has_a_currency",
            ),
        ),
        forbid_changes("competitions_problemversion"),
    ]
