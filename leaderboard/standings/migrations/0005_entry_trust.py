from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("standings", "0004_entry_epoch")]
    operations = [
        migrations.AddField(model_name="entry", name="forgeable", field=models.FloatField(null=True)),
        migrations.AddField(
            model_name="entry",
            name="telemetry",
            field=models.CharField(blank=True, default="", max_length=16),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            model_name="entry",
            constraint=models.CheckConstraint(
                condition=models.Q(("telemetry", "none"), _negated=True), name="entry_was_watched"
            ),
        ),
    ]
