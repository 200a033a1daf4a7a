from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

KNOWN = models.Q(("mode__in", ("test", "benchmark", "ranked", "profile")))


class Migration(migrations.Migration):
    dependencies = [("submissions", "0007_remixes_index")]

    accepted = {"ban-drop-constraint": "the same transaction puts a wider one in its place, which suits the old code"}
    operations = [
        migrations.RemoveConstraint("submission", "submission_mode_is_known"),
        AddConstraintNotValid("submission", models.CheckConstraint(condition=KNOWN, name="submission_mode_is_known")),
        migrations.RemoveConstraint("quotaexception", "quota_exception_mode_is_known"),
        AddConstraintNotValid(
            "quotaexception", models.CheckConstraint(condition=KNOWN, name="quota_exception_mode_is_known")
        ),
    ]
