"""A counter by which all sessions of an account end at once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_review_scope")]

    operations = [
        migrations.AddField("user", "session_generation", models.PositiveIntegerField(default=0)),
    ]
