from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0018_outages_release_drain")]

    operations = [
        migrations.AddField(
            "runner",
            "old_token_digest",
            models.CharField(max_length=64, blank=True, db_index=True, default=""),
            preserve_default=False,
        ),
        migrations.AddField("runner", "old_token_until", models.DateTimeField(null=True)),
        migrations.AddField("runner", "revoked_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "runner", "revoked_reason", models.TextField(blank=True, default=""), preserve_default=False
        ),
        migrations.AddField("runner", "seen_from", models.GenericIPAddressField(null=True)),
    ]
