import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import leaderboard.competitions.models


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0004_set_upload_choices"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Announcement",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("title", models.CharField(max_length=200)),
                ("text", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("withdrawn_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="InviteCode",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("prefix", models.CharField(max_length=16)),
                ("digest", models.CharField(max_length=64, unique=True)),
                ("note", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField()),
                ("used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["id"],
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
            ],
            options={
                "ordering": ["track_id", "place"],
            },
        ),
        migrations.CreateModel(
            name="Role",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("role", models.CharField(max_length=16)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
            options={
                "ordering": ["id"],
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
            ],
            options={
                "ordering": ["position", "id"],
            },
        ),
        migrations.AddField(
            model_name="board",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=32), blank=True, default=list, size=None
            ),
        ),
        migrations.AddField(
            model_name="competition",
            name="contest_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="competition",
            name="divisions",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=16),
                default=leaderboard.competitions.models.every_division,
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="competition",
            name="final_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="competition",
            name="freeze_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="competition",
            name="max_team_size",
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddField(
            model_name="competition",
            name="merge_deadline",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="competition",
            name="practice_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="competition",
            name="quotas",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="competition",
            name="revealed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="competition",
            name="rules",
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name="competition",
            name="scoring",
            field=models.CharField(default="geometric_mean", max_length=16),
        ),
        migrations.AddField(
            model_name="competition",
            name="stays_open",
            field=models.BooleanField(default=True),
        ),
        migrations.AddField(
            model_name="competition",
            name="thresholds",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="competition",
            name="two_person_rule",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="competition",
            name="visibility",
            field=models.CharField(default="public", max_length=16),
        ),
        migrations.AddConstraint(
            model_name="competition",
            constraint=models.CheckConstraint(
                condition=models.Q(("visibility__in", ("public", "unlisted", "closed"))),
                name="competition_visibility_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="competition",
            constraint=models.CheckConstraint(
                condition=models.Q(("scoring__in", ("geometric_mean", "points", "fast_p"))),
                name="competition_scoring_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="competition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("divisions__contained_by", ["human", "agent", "mixed"]), models.Q(("divisions", []), _negated=True)
                ),
                name="competition_divisions_are_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="competition",
            constraint=models.CheckConstraint(
                condition=models.Q(("max_team_size__gte", 1), ("max_team_size__lte", 100)),
                name="competition_team_size_in_limits",
            ),
        ),
        migrations.AddConstraint(
            model_name="competition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("practice_at__isnull", True),
                    ("contest_at__isnull", True),
                    ("practice_at__lte", models.F("contest_at")),
                    _connector="OR",
                ),
                name="competition_practice_at_before_contest_at",
            ),
        ),
        migrations.AddConstraint(
            model_name="competition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("contest_at__isnull", True),
                    ("freeze_at__isnull", True),
                    ("contest_at__lte", models.F("freeze_at")),
                    _connector="OR",
                ),
                name="competition_contest_at_before_freeze_at",
            ),
        ),
        migrations.AddConstraint(
            model_name="competition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("contest_at__isnull", True),
                    ("deadline__isnull", True),
                    ("contest_at__lte", models.F("deadline")),
                    _connector="OR",
                ),
                name="competition_contest_at_before_deadline",
            ),
        ),
        migrations.AddConstraint(
            model_name="competition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("freeze_at__isnull", True),
                    ("deadline__isnull", True),
                    ("freeze_at__lte", models.F("deadline")),
                    _connector="OR",
                ),
                name="competition_freeze_at_before_deadline",
            ),
        ),
        migrations.AddConstraint(
            model_name="competition",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("deadline__isnull", True),
                    ("final_at__isnull", True),
                    ("deadline__lte", models.F("final_at")),
                    _connector="OR",
                ),
                name="competition_deadline_before_final_at",
            ),
        ),
        migrations.AddField(
            model_name="announcement",
            name="author",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="announcement",
            name="competition",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="announcements", to="competitions.competition"
            ),
        ),
        migrations.AddField(
            model_name="invitecode",
            name="boards",
            field=models.ManyToManyField(related_name="+", to="competitions.board"),
        ),
        migrations.AddField(
            model_name="invitecode",
            name="competition",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="invite_codes", to="competitions.competition"
            ),
        ),
        migrations.AddField(
            model_name="invitecode",
            name="created_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="invitecode",
            name="used_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="role",
            name="competition",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="roles", to="competitions.competition"
            ),
        ),
        migrations.AddField(
            model_name="role",
            name="user",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="roles", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="track",
            name="competition",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="tracks", to="competitions.competition"
            ),
        ),
        migrations.AddField(
            model_name="prize",
            name="track",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="prizes", to="competitions.track"
            ),
        ),
        migrations.AddConstraint(
            model_name="invitecode",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("used_at__isnull", True), ("used_by__isnull", True)),
                    models.Q(("used_at__isnull", False), ("used_by__isnull", False)),
                    _connector="OR",
                ),
                name="invite_code_used_by_somebody",
            ),
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
    ]
