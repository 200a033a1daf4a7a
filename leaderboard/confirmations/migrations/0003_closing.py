import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("confirmations", "0002_append_only"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="confirmation",
            name="close_reason",
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name="confirmation",
            name="closed_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="confirmation",
            name="closed_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddConstraint(
            model_name="confirmation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("close_reason", ""), ("closed_at__isnull", True), ("closed_by__isnull", True)),
                    models.Q(
                        ("closed_at__isnull", False),
                        ("closed_by__isnull", False),
                        ("outcome__in", ("failed", "held", "error")),
                        models.Q(("close_reason", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="confirmation_is_closed_with_a_reason",
            ),
        ),
    ]
