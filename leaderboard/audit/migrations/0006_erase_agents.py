"""The function that takes an erased person's names out of audit rows, now with the names around their agents."""

from django.db import migrations

from leaderboard.audit.models import run_file


class Migration(migrations.Migration):
    dependencies = [("audit", "0005_erase"), ("accounts", "0007_agents")]
    accepted = {"ban-drop-function": "photofinish_erase_names alone calls it, and changes in the same transaction"}

    operations = [run_file("erase_names.sql", __file__)]
