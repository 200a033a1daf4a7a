from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0001_initial"),
        ("judging", "0001_initial"),
        ("submissions", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="watch",
            name="backed_up_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(condition=models.Q(("state", "lost")), fields=["hardware"], name="attempt_lost"),
        ),
    ]
