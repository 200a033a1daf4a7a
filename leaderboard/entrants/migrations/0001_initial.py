import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("entrants", "0001_tables"),
        ("entrants", "0002_revealed"),
        ("entrants", "0003_looks"),
    ]

    dependencies = [
        ("competitions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Entrant",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=150)),
                ("is_team", models.BooleanField(default=False)),
                ("pseudonym", models.CharField(blank=True, max_length=150)),
                ("revealed_at", models.DateTimeField(blank=True, null=True)),
                ("division", models.CharField(default="human", max_length=16)),
                ("model_name", models.CharField(blank=True, max_length=128)),
                ("affiliation", models.CharField(blank=True, max_length=128)),
                ("declared", models.JSONField(blank=True, default=list)),
                ("created_at", models.DateTimeField()),
                (
                    "looks",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), blank=True, default=list, size=None
                    ),
                ),
                (
                    "competition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="entrants",
                        to="competitions.competition",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("role", models.CharField(max_length=16)),
                ("rules_digest", models.CharField(blank=True, max_length=80)),
                ("joined_at", models.DateTimeField()),
                ("left_at", models.DateTimeField(null=True)),
                (
                    "competition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="competitions.competition"
                    ),
                ),
                (
                    "entrant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="memberships", to="entrants.entrant"
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="TeamInvite",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField()),
                ("answer", models.CharField(blank=True, max_length=16)),
                ("answered_at", models.DateTimeField(null=True)),
                (
                    "entrant",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="invites", to="entrants.entrant"
                    ),
                ),
                (
                    "invited_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="team_invites",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddIndex(
            model_name="entrant",
            index=django.contrib.postgres.indexes.GinIndex(fields=["looks"], name="entrant_by_look"),
        ),
        migrations.AddConstraint(
            model_name="entrant",
            constraint=models.UniqueConstraint(
                models.F("competition"),
                django.db.models.functions.text.Lower("name"),
                name="entrant_name_is_unique_in_any_case",
            ),
        ),
        migrations.AddConstraint(
            model_name="entrant",
            constraint=models.UniqueConstraint(
                models.F("competition"),
                django.db.models.functions.text.Lower("pseudonym"),
                condition=models.Q(("pseudonym", ""), _negated=True),
                name="entrant_pseudonym_is_unique_in_any_case",
            ),
        ),
        migrations.AddConstraint(
            model_name="entrant",
            constraint=models.CheckConstraint(
                condition=models.Q(("division__in", ("human", "agent", "mixed"))), name="entrant_division_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="entrant",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("division", "human"), ("model_name", "")),
                    models.Q(("division__in", ("agent", "mixed")), models.Q(("model_name", ""), _negated=True)),
                    _connector="OR",
                ),
                name="entrant_names_its_model",
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(
                condition=models.Q(("left_at__isnull", True)),
                fields=("competition", "user"),
                name="one_entrant_a_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(
                condition=models.Q(("left_at__isnull", True), ("role", "captain")),
                fields=("entrant",),
                name="one_captain_an_entrant",
            ),
        ),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.CheckConstraint(
                condition=models.Q(("role__in", ("captain", "member"))), name="membership_role_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="teaminvite",
            constraint=models.UniqueConstraint(
                condition=models.Q(("answer", "")), fields=("entrant", "user"), name="one_open_invite_a_team_and_person"
            ),
        ),
        migrations.AddConstraint(
            model_name="teaminvite",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("answer", ""), ("answered_at__isnull", True)),
                    models.Q(("answer__in", ("accepted", "declined", "withdrawn")), ("answered_at__isnull", False)),
                    _connector="OR",
                ),
                name="team_invite_answer_is_known",
            ),
        ),
    ]
