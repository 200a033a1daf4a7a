from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0007_runner_set_aside")]
    operations = [
        migrations.RemoveConstraint(model_name="attempt", name="attempt_cause_is_known"),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(("cause__in", ("first", "replacement", "rejudge", "remeasure"))),
                name="attempt_cause_is_known",
            ),
        ),
    ]
