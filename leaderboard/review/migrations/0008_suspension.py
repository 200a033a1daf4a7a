import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

from leaderboard.audit.append_only import forbid_changes


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0002_append_only"),
        ("competitions", "0005_contests"),
        ("review", "0007_cases_of_before"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name="Suspension",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("act", models.CharField(max_length=16)),
                ("reason", models.TextField()),
                ("created_at", models.DateTimeField()),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="suspensions",
                        to=settings.AUTH_USER_MODEL,
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
                    "actor",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(act__in=("suspend", "reinstate")), name="suspension_act_is_known"
                    ),
                    models.CheckConstraint(condition=~Q(reason=""), name="suspension_has_a_reason"),
                ],
            },
        ),
        forbid_changes("review_suspension"),
    ]
