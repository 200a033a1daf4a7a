"""The table behind the rate limits of web/limits.py."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="RequestCount",
            fields=[
                ("key", models.CharField(max_length=200, primary_key=True, serialize=False)),
                ("window_starts_at", models.DateTimeField(db_index=True)),
                ("count", models.PositiveIntegerField()),
            ],
        ),
    ]
