import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.models import Q

STATES = ("waiting", "asked", "half_cleared", "cleared", "rejected", "appealed")


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0005_contests"),
        ("review", "0005_log_of_decisions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]
    operations = [
        migrations.CreateModel(
            name="Case",
            fields=[
                (
                    "result",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="case",
                        serialize=False,
                        to="judging.result",
                    ),
                ),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="competitions.board"
                    ),
                ),
                ("origin", models.CharField(max_length=16)),
                ("opened_at", models.DateTimeField()),
                ("state", models.CharField(max_length=16)),
                ("since", models.DateTimeField()),
                ("is_by_itself", models.BooleanField(default=False)),
                (
                    "claimed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("claimed_until", models.DateTimeField(null=True)),
                (
                    "labels",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), default=list, size=None
                    ),
                ),
            ],
            options={
                "ordering": ["opened_at", "result_id"],
                "indexes": [models.Index(fields=["board", "state"], name="case_by_board")],
                "constraints": [
                    models.CheckConstraint(condition=Q(state__in=STATES), name="case_state_is_known"),
                    models.CheckConstraint(condition=Q(origin__in=("held", "by_itself")), name="case_origin_is_known"),
                ],
            },
        ),
    ]
