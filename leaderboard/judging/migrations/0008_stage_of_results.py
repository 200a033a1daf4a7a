from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0007_place")]

    operations = [
        migrations.AddField(
            model_name="result",
            name="stage",
            field=models.CharField(blank=True, db_default="", default="", max_length=16),
        ),
    ]
