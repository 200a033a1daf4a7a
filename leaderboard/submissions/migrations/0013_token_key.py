from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0012_batch_bar")]

    operations = [
        migrations.AddField(model_name="submission", name="token_key", field=models.BigIntegerField(null=True)),
    ]
