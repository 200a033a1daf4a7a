from django.db import migrations

from leaderboard.audit.models import run_file


class Migration(migrations.Migration):
    dependencies = [
        ("standings", "0003_new_times_renew_revisions"),
        ("entrants", "0005_cost"),
    ]
    operations = [run_file("groups.sql", __file__)]
