from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("competitions", "0003_set_upload")]

    operations = [
        migrations.AddField(
            model_name="setupload",
            name="hardware",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="setupload",
            name="without_deadlines",
            field=models.BooleanField(default=False),
        ),
    ]
