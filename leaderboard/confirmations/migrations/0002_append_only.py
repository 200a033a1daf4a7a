from django.db import migrations

from leaderboard.audit.append_only import forbid_changes


class Migration(migrations.Migration):
    dependencies = [("confirmations", "0001_tables"), ("audit", "0002_append_only")]
    operations = [forbid_changes("confirmations_found")]
