from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("entrants", "0001_tables"),
    ]

    operations = [
        migrations.AddField(
            model_name="entrant",
            name="revealed_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
