from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0016_repeats_index")]

    operations = [migrations.AddField("batch", "may_repeat", models.BooleanField(default=False, db_default=False))]
