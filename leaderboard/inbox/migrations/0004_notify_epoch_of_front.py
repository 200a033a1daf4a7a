from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inbox", "0003_kinds_are_valid")]

    operations = [migrations.AddField("boardseen", "epoch", models.CharField(max_length=64, null=True))]
