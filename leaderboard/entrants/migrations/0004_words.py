from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations
from django.db.models import Q

from leaderboard.competitions.words import vector


class Migration(migrations.Migration):
    """Search by words in names and pseudonyms."""

    atomic = False
    dependencies = [("entrants", "0003_desk")]
    operations = [
        AddIndexConcurrently("entrant", GinIndex(vector("name"), name="entrant_by_word")),
        AddIndexConcurrently(
            "entrant",
            GinIndex(vector("pseudonym"), condition=~Q(pseudonym=""), name="entrant_by_pseudonym_word"),
        ),
    ]
