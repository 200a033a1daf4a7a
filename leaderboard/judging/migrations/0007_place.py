from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0006_events_by_month")]

    operations = [
        migrations.AddField(model_name="runner", name="place", field=models.JSONField(db_default={}, default=dict)),
    ]
