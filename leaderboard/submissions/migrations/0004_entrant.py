import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0003_code_digest"), ("entrants", "0001_tables")]
    operations = [
        migrations.AddField(
            model_name="submission",
            name="entrant",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="submissions",
                to="entrants.entrant",
            ),
        ),
        migrations.AddField(
            model_name="submission",
            name="licence",
            field=models.CharField(blank=True, default="", max_length=32),
            preserve_default=False,
        ),
    ]
