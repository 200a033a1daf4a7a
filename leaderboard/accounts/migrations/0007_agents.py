import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    accepted = {"adding-foreign-key-constraint": "the column is new and null, so PostgreSQL scans no row"}

    dependencies = [("accounts", "0006_data_set_choice")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="agent_of",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="agents",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="apitoken", name="device_s_per_day", field=models.PositiveIntegerField(null=True)
        ),
        migrations.AddField(model_name="apitoken", name="per_hour", field=models.PositiveIntegerField(null=True)),
    ]
