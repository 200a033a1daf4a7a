from django.contrib.postgres.operations import ValidateConstraint
from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("inbox", "0002_signed_webhooks")]

    operations = [
        ValidateConstraint("message", "message_kind_is_known"),
        ValidateConstraint("preference", "preference_kinds_are_known"),
        ValidateConstraint("preference", "preference_hook_format_is_known"),
    ]
