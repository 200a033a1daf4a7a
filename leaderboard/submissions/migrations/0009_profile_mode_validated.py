from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("submissions", "0008_profile_mode")]

    operations = [
        ValidateConstraint("submission", "submission_mode_is_known"),
        ValidateConstraint("quotaexception", "quota_exception_mode_is_known"),
    ]
