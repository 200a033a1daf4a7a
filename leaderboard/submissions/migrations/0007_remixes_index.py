from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0006_remixes")]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=models.Q(("remixed_from__isnull", False)),
                fields=["remixed_from"],
                name="submission_by_origin",
            ),
        ),
    ]
