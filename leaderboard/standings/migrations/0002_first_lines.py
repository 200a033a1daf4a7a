from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    """The first line of a board, and an entrant's lines by time."""

    atomic = False
    dependencies = [("standings", "0001_initial")]
    operations = [
        AddIndexConcurrently(
            "entry", models.Index(fields=["board", "submitted_at", "submission"], name="entry_by_time")
        ),
        AddIndexConcurrently(
            "entry", models.Index(fields=["entrant", "-submitted_at", "-submission"], name="entry_of_entrant")
        ),
    ]
