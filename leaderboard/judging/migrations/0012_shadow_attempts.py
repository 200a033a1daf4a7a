import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0005_contests"),
        ("judging", "0011_reference_time_epoch"),
        ("submissions", "0006_entrant_is_known"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="RejudgeItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("became", models.CharField(blank=True, max_length=16)),
                ("rank_before", models.PositiveIntegerField(null=True)),
                ("rank_after", models.PositiveIntegerField(null=True)),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="RejudgeSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("why", models.TextField()),
                ("selection", models.JSONField()),
                ("estimate_s", models.FloatField()),
                ("state", models.CharField(default="open", max_length=16)),
                ("created_at", models.DateTimeField()),
                ("stopped_at", models.DateTimeField(null=True)),
                ("settled_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.RemoveConstraint(
            model_name="attempt",
            name="attempt_numbers_are_unique",
        ),
        migrations.RemoveConstraint(
            model_name="attempt",
            name="attempt_unfinished_is_current",
        ),
        migrations.AddField(
            model_name="attempt",
            name="is_shadow",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="attemptevent",
            name="in_shadow",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="rejudgeitem",
            name="after",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="judging.attempt"
            ),
        ),
        migrations.AddField(
            model_name="rejudgeitem",
            name="before",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="judging.attempt"
            ),
        ),
        migrations.AddField(
            model_name="rejudgeitem",
            name="submission",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="submissions.submission"
            ),
        ),
        migrations.AddField(
            model_name="rejudgeset",
            name="board",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="competitions.board"
            ),
        ),
        migrations.AddField(
            model_name="rejudgeset",
            name="competition",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="rejudge_sets", to="competitions.competition"
            ),
        ),
        migrations.AddField(
            model_name="rejudgeset",
            name="created_by",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="rejudgeset",
            name="settled_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="rejudgeitem",
            name="rejudge_set",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="items", to="judging.rejudgeset"
            ),
        ),
        migrations.AddField(
            model_name="attempt",
            name="rejudge_set",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="attempts", to="judging.rejudgeset"
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state__in", ("queued", "claimed", "building", "checking", "timing")), _negated=True),
                    ("is_current", True),
                    ("is_shadow", True),
                    _connector="OR",
                ),
                name="attempt_unfinished_is_current_or_shadow",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("is_shadow", False),
                    models.Q(("is_current", False), ("rejudge_set__isnull", False)),
                    _connector="OR",
                ),
                name="attempt_in_the_shadow_has_a_set",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("is_shadow", True), ("state__in", ("queued", "claimed", "building", "checking", "timing"))
                ),
                fields=("submission", "rejudge_set"),
                name="one_shadow_attempt_a_submission_and_set",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_shadow", False)),
                fields=("submission", "number"),
                name="attempt_numbers_are_unique",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_shadow", True)),
                fields=("submission", "rejudge_set", "number"),
                name="shadow_attempt_numbers_are_unique",
            ),
        ),
        migrations.AddConstraint(
            model_name="rejudgeset",
            constraint=models.UniqueConstraint(fields=("competition", "name"), name="one_rejudge_set_a_name"),
        ),
        migrations.AddConstraint(
            model_name="rejudgeset",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("settled_at__isnull", True), ("settled_by__isnull", True), ("state", "open")),
                    models.Q(
                        ("settled_at__isnull", False),
                        ("settled_by__isnull", False),
                        ("state__in", ("applied", "discarded")),
                    ),
                    _connector="OR",
                ),
                name="rejudge_set_settled_by_somebody",
            ),
        ),
        migrations.AddConstraint(
            model_name="rejudgeitem",
            constraint=models.UniqueConstraint(
                fields=("rejudge_set", "submission"), name="one_rejudge_item_a_submission"
            ),
        ),
        migrations.AddConstraint(
            model_name="rejudgeitem",
            constraint=models.CheckConstraint(
                condition=models.Q(("became__in", ("", "applied", "newer", "rejected", "no_verdict"))),
                name="rejudge_item_became_is_known",
            ),
        ),
    ]
