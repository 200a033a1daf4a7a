from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0010_result_epoch_and_trust")]
    operations = [
        migrations.AddField(
            model_name="referencetime",
            name="epoch",
            field=models.CharField(blank=True, default="", max_length=64),
            preserve_default=False,
        ),
        migrations.AlterModelOptions(
            name="referencetime",
            options={"ordering": ["problem_digest", "hardware", "epoch", "case"]},
        ),
        migrations.RemoveConstraint(model_name="referencetime", name="one_reference_time_a_case"),
        migrations.AddConstraint(
            model_name="referencetime",
            constraint=models.UniqueConstraint(
                fields=("problem_digest", "hardware", "epoch", "case"), name="one_reference_time_a_case_and_epoch"
            ),
        ),
    ]
