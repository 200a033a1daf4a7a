import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0012_shadow_attempts")]

    operations = [
        migrations.AddField(
            model_name="attempt",
            name="away_from",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="judging.runner"
            ),
        ),
    ]
