from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0006_runner_epoch")]
    operations = [
        migrations.AddField(model_name="runner", name="set_aside_at", field=models.DateTimeField(null=True)),
        migrations.AddField(
            model_name="runner",
            name="set_aside_reason",
            field=models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
    ]
