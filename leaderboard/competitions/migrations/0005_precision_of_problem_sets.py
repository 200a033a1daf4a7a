from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("competitions", "0004_organiser_delete_versions")]

    operations = [
        migrations.AddField(
            model_name="setupload",
            name="precision",
            field=models.CharField(db_default="fp32", default="fp32", max_length=8),
        ),
    ]
