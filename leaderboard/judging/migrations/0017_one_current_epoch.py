"""A hardware has one current epoch at most. Apart from 0016, whose changed rows would keep the table from changing."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0016_epoch_states")]

    operations = [
        migrations.AddConstraint(
            "epoch",
            models.UniqueConstraint(
                fields=["hardware"], condition=models.Q(state="current"), name="one_current_epoch_a_hardware"
            ),
        ),
        migrations.AddConstraint(
            "epoch",
            models.CheckConstraint(
                condition=models.Q(state__in=("current", "retired"), current_since__isnull=False)
                | models.Q(state__in=("proposed", "dismissed")),
                name="epoch_state_is_known",
            ),
        ),
    ]
