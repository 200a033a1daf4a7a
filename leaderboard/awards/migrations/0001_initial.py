import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from leaderboard.audit.models import forbid_changes


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("awards", "0001_tables"),
        ("awards", "0002_append_only"),
    ]

    dependencies = [
        ("audit", "0001_initial"),
        ("competitions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Award",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("state", models.CharField(default="proposed", max_length=16)),
                ("basis", models.CharField(max_length=80)),
                ("content", models.JSONField()),
                ("created_at", models.DateTimeField()),
                (
                    "announcement",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="award",
                        to="competitions.announcement",
                    ),
                ),
                (
                    "track",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="awards", to="competitions.track"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Step",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("state", models.CharField(max_length=16)),
                ("reason", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                (
                    "actor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "award",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="steps", to="awards.award"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddConstraint(
            model_name="award",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "withdrawn"), _negated=True),
                fields=("track",),
                name="one_living_award_a_track",
            ),
        ),
        migrations.AddConstraint(
            model_name="award",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ("proposed", "confirmed", "approved", "announced", "withdrawn"))),
                name="award_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="award",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", "announced"), _negated=True), ("announcement__isnull", False), _connector="OR"
                ),
                name="award_announced_says_where",
            ),
        ),
        migrations.AddConstraint(
            model_name="step",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ("proposed", "confirmed", "approved", "announced", "withdrawn"))),
                name="award_step_state_is_known",
            ),
        ),
        forbid_changes("awards_step"),
    ]
