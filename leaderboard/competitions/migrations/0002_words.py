from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations

from leaderboard.competitions.words import vector


class Migration(migrations.Migration):
    """Search by words in the names of competitions and problems."""

    atomic = False
    dependencies = [("competitions", "0001_initial")]
    operations = [
        AddIndexConcurrently("competition", GinIndex(vector("name", "slug"), name="competition_by_word")),
        AddIndexConcurrently("problem", GinIndex(vector("title", "slug"), name="problem_by_word")),
    ]
