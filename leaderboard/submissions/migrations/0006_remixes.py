import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    accepted = {"adding-foreign-key-constraint": "the column is new and null, so PostgreSQL scans no row"}

    dependencies = [("submissions", "0005_notes")]

    operations = [
        migrations.AddField(
            model_name="submission",
            name="remixed_from",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="remixes",
                to="submissions.submission",
            ),
        ),
        migrations.AddField(model_name="draft", name="remixed_from", field=models.BigIntegerField(null=True)),
    ]
