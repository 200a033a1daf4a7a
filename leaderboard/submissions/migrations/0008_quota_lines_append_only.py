from django.db import migrations

from leaderboard.audit.append_only import forbid_changes


class Migration(migrations.Migration):
    dependencies = [("submissions", "0007_quota_line"), ("audit", "0002_append_only")]
    operations = [
        forbid_changes("submissions_quotaline"),
    ]
