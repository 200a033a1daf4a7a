from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("operations", "0004_mail")]

    operations = [
        migrations.AddField(model_name="notice", name="mailed_at", field=models.DateTimeField(null=True)),
    ]
