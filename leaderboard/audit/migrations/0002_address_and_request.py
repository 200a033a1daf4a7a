from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="row",
            name="address",
            field=models.CharField(blank=True, max_length=64),
        ),
        migrations.AddField(
            model_name="row",
            name="request",
            field=models.CharField(blank=True, max_length=64),
        ),
    ]
