"""Lets texts of audit rows change, for the function of 0006_erase_agents. Nothing calls it in the last release."""

from django.db import migrations

from leaderboard.audit.models import run_file


class Migration(migrations.Migration):
    dependencies = [("audit", "0004_desk")]

    operations = [run_file("erase.sql", __file__)]
