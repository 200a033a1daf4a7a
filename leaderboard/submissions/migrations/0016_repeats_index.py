from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("submissions", "0015_repeats")]

    operations = [
        AddIndexConcurrently(
            model_name="submission",
            index=models.Index(
                condition=~models.Q(verbatim_digest=""),
                fields=["verbatim_digest"],
                name="submission_by_verbatim_digest",
            ),
        ),
    ]
