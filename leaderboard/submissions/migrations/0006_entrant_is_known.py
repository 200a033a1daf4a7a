import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0005_entrants_of_old_ones")]
    operations = [
        migrations.AlterField(
            model_name="submission",
            name="entrant",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="submissions", to="entrants.entrant"
            ),
        ),
        migrations.AddIndex(
            model_name="submission",
            index=models.Index(fields=["entrant", "board"], name="submission_by_entrant"),
        ),
    ]
