from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0017_one_current_epoch")]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="not_before",
            field=models.DateTimeField(null=True),
        ),
    ]
