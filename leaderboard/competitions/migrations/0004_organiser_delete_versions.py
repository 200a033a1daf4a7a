"""A function that deletes the versions of an unused problem. Nothing calls it in the last release."""

from django.db import migrations

from leaderboard.audit.models import run_file


class Migration(migrations.Migration):
    dependencies = [("competitions", "0003_git_of_problem_sets"), ("audit", "0005_erase")]

    operations = [run_file("delete_versions.sql", __file__)]
