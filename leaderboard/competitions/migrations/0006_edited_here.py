from __future__ import annotations

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("competitions", "0005_contests")]

    operations = [
        migrations.AddField(
            model_name=model,
            name="edited",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=32), blank=True, default=list, size=None
            ),
        )
        for model in ("board", "competition")
    ]
