from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0013_token_key")]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("token_key__isnull", False)),
                fields=["token_key", "-created_at"],
                name="submission_by_token",
            ),
        ),
    ]
