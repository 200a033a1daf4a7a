import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

from leaderboard.audit.models import forbid_changes

NAME = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,63}$"


class Migration(migrations.Migration):
    dependencies = [("submissions", "0010_batches")]

    operations = [
        migrations.CreateModel(
            name="Lineage",
            fields=[
                (
                    "submission",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="lineage",
                        serialize=False,
                        to="submissions.submission",
                    ),
                ),
                ("idea", models.CharField(blank=True, max_length=500)),
                ("model", models.CharField(blank=True, max_length=128)),
                ("prompt_sha256", models.CharField(blank=True, max_length=64)),
                ("sampling", models.JSONField(default=dict)),
                ("cost_usd", models.FloatField(null=True)),
                ("strategy", models.CharField(blank=True, max_length=64)),
                ("run", models.CharField(blank=True, max_length=64)),
            ],
            options={
                "ordering": ["submission_id"],
                "indexes": [
                    models.Index(fields=["run", "submission"], condition=~Q(("run", "")), name="lineage_by_run"),
                    models.Index(fields=["model", "submission"], condition=~Q(("model", "")), name="lineage_by_model"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(("model", "")) | Q(("model__regex", r"^[A-Za-z0-9][A-Za-z0-9._:/+@-]{0,127}$")),
                        name="lineage_model_is_a_name",
                    ),
                    models.CheckConstraint(
                        condition=Q(("prompt_sha256", "")) | Q(("prompt_sha256__regex", r"^[0-9a-f]{64}$")),
                        name="lineage_prompt",
                    ),
                    models.CheckConstraint(
                        condition=Q(("cost_usd", None)) | Q(("cost_usd__gte", 0), ("cost_usd__lte", 1_000_000)),
                        name="lineage_cost",
                    ),
                    models.CheckConstraint(
                        condition=Q(("strategy", "")) | Q(("strategy__regex", NAME)), name="lineage_strategy_is_a_name"
                    ),
                    models.CheckConstraint(
                        condition=Q(("run", "")) | Q(("run__regex", NAME)), name="lineage_run_is_a_name"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Parent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "child",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="parent_rows",
                        to="submissions.submission",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="child_rows",
                        to="submissions.submission",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("child", "parent"), name="one_parent_row_a_pair"),
                    models.CheckConstraint(condition=Q(("parent__lt", F("child"))), name="parent_is_older"),
                ],
            },
        ),
        forbid_changes("submissions_lineage"),
        forbid_changes("submissions_parent"),
    ]
