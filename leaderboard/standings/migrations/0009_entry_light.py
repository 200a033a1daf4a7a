from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("standings", "0008_revision")]
    operations = [
        migrations.AddField(model_name="entry", name="light", field=models.FloatField(null=True)),
    ]
