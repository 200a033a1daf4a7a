import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("submissions", "0009_profile_mode_validated"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Batch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("mode", models.CharField(max_length=16)),
                ("budget_s", models.FloatField()),
                ("size", models.PositiveSmallIntegerField()),
                ("ended_as", models.CharField(blank=True, max_length=16)),
                ("created_at", models.DateTimeField()),
                ("settled_at", models.DateTimeField(null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="batches", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Candidate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveSmallIntegerField()),
                ("arrival", models.PositiveSmallIntegerField(null=True)),
                (
                    "batch",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="candidates",
                        to="submissions.batch",
                    ),
                ),
                (
                    "submission",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="candidate",
                        to="submissions.submission",
                    ),
                ),
            ],
            options={
                "ordering": ["batch_id", "number"],
            },
        ),
        migrations.AddIndex(
            model_name="batch",
            index=models.Index(fields=["owner", "-id"], name="batch_by_owner"),
        ),
        migrations.AddIndex(
            model_name="batch",
            index=models.Index(condition=models.Q(("settled_at__isnull", True)), fields=["id"], name="batch_unsettled"),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(("mode__in", ("test", "benchmark", "ranked", "profile"))), name="batch_mode_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(("budget_s__gt", 0)), name="batch_budget_is_above_zero"
            ),
        ),
        migrations.AddConstraint(
            model_name="batch",
            constraint=models.CheckConstraint(
                condition=models.Q(("ended_as__in", ("", "cancelled", "budget_spent"))), name="batch_end_is_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="candidate",
            constraint=models.UniqueConstraint(fields=("batch", "number"), name="one_candidate_a_batch_and_number"),
        ),
        migrations.AddConstraint(
            model_name="candidate",
            constraint=models.UniqueConstraint(fields=("batch", "arrival"), name="one_candidate_a_batch_and_arrival"),
        ),
    ]
