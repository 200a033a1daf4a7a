import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("web", "0001_request_count"),
        ("web", "0002_keyed_answer"),
    ]

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="RequestCount",
            fields=[
                ("key", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("window_starts_at", models.DateTimeField(db_index=True)),
                ("count", models.PositiveIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="KeyedAnswer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=255)),
                ("digest", models.CharField(max_length=64)),
                ("answer", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(db_index=True)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("account", "key"), name="one_answer_a_key")],
            },
        ),
    ]
