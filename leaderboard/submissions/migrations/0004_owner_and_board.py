from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0003_drafts")]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(fields=["owner", "board", "-created_at"], name="submission_by_owner_and_board"),
        ),
    ]
