from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0008_stage_of_results")]

    operations = [
        migrations.AddField(model_name="watch", name="whole_sweep_at", field=models.DateTimeField(null=True)),
    ]
