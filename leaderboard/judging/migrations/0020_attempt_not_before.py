from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0013_away_from")]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="not_before",
            field=models.DateTimeField(null=True),
        ),
    ]
