"""How names look, stored and indexed: whether one is taken is asked of the index and not of all names."""

from typing import Any

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models

from leaderboard.entrants.models import looks_of


def fill(apps: Any, schema_editor: Any) -> None:
    for entrant in apps.get_model("entrants", "Entrant").objects.iterator():
        entrant.looks = looks_of(entrant.name, entrant.pseudonym)
        entrant.save(update_fields=["looks"])


class Migration(migrations.Migration):
    atomic = False  # PostgreSQL refuses an index beside rows that were changed in the same transaction
    dependencies = [("entrants", "0002_revealed")]

    operations = [
        migrations.AddField(
            "entrant",
            "looks",
            django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), blank=True, default=list, size=None
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
        migrations.AddIndex(
            "entrant", django.contrib.postgres.indexes.GinIndex(fields=["looks"], name="entrant_by_look")
        ),
    ]
