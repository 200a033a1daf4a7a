from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0011_lineage")]

    operations = [migrations.AddField("batch", "bar", models.FloatField(null=True))]
