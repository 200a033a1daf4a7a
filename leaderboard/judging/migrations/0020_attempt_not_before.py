from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0019_runner_tokens")]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="not_before",
            field=models.DateTimeField(null=True),
        ),
    ]
