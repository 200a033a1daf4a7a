from django.contrib.postgres.operations import AddConstraintNotValid
from django.db import migrations, models

KINDS = ["verdict", "overtaken", "review", "announcement", "phase", "organising"]


class Migration(migrations.Migration):
    dependencies = [("inbox", "0001_initial")]

    accepted = {"ban-drop-constraint": "each comes back in this migration, and allows more than before"}

    operations = [
        migrations.AddField("preference", "hook_secret", models.TextField(blank=True, default="", db_default="")),
        migrations.AddField("preference", "hook_former", models.TextField(blank=True, default="", db_default="")),
        migrations.AddField("preference", "hook_former_until", models.DateTimeField(null=True)),
        migrations.RemoveConstraint("message", "message_kind_is_known"),
        migrations.RemoveConstraint("preference", "preference_kinds_are_known"),
        migrations.RemoveConstraint("preference", "preference_hook_format_is_known"),
        AddConstraintNotValid(
            "message",
            models.CheckConstraint(condition=models.Q(kind__in=tuple(KINDS)), name="message_kind_is_known"),
        ),
        AddConstraintNotValid(
            "preference",
            models.CheckConstraint(
                condition=models.Q(page__contained_by=KINDS, mail__contained_by=KINDS, webhook__contained_by=KINDS),
                name="preference_kinds_are_known",
            ),
        ),
        AddConstraintNotValid(
            "preference",
            models.CheckConstraint(
                condition=models.Q(hook_format__in=("discord", "slack", "json")),
                name="preference_hook_format_is_known",
            ),
        ),
    ]
