from django.db import migrations

from leaderboard.audit.models import run_file


class Migration(migrations.Migration):
    dependencies = [
        ("standings", "0002_first_lines"),
        ("competitions", "0005_precision_of_problem_sets"),
    ]
    operations = [run_file("times.sql", __file__)]
