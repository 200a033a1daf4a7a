from django.db import migrations

from leaderboard.audit.append_only import forbid_changes


class Migration(migrations.Migration):
    dependencies = [("awards", "0001_tables"), ("audit", "0002_append_only")]
    operations = [forbid_changes("awards_step")]
