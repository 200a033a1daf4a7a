"""A function that takes an erased person's names out of audit rows. Nothing calls it in the last release."""

from django.db import migrations

from leaderboard.audit.models import run_file


class Migration(migrations.Migration):
    dependencies = [("audit", "0004_desk")]

    operations = [run_file("erase.sql", __file__)]
