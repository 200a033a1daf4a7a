from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("inbox", "0004_notify_epoch_of_front")]

    operations = [
        migrations.AddField("message", "mail_since", models.DateTimeField(null=True)),
        migrations.AddField("message", "webhook_since", models.DateTimeField(null=True)),
    ]
