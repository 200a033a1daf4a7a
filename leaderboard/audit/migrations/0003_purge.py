"""Functions that delete old rows of two append-only tables. Nothing calls them in the last release."""

from django.db import migrations

from leaderboard.audit.models import run_file


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0002_address_and_request"),
    ]

    operations = [run_file("purge.sql", __file__)]
