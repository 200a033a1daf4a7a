from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0009_epoch")]
    operations = [
        migrations.AddField(
            model_name="result",
            name="epoch",
            field=models.CharField(blank=True, default="", max_length=64),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="result",
            name="telemetry",
            field=models.CharField(blank=True, default="", max_length=16),
            preserve_default=False,
        ),
        migrations.AddField(model_name="result", name="forgeable", field=models.FloatField(null=True)),
        migrations.AddConstraint(
            model_name="result",
            constraint=models.CheckConstraint(
                condition=models.Q(("telemetry__in", ("", "full", "mask_only", "none"))),
                name="result_telemetry_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="result",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("forgeable__isnull", True),
                    models.Q(("forgeable__gte", 0), ("forgeable__lte", 1)),
                    _connector="OR",
                ),
                name="result_forgeable_is_a_share",
            ),
        ),
    ]
