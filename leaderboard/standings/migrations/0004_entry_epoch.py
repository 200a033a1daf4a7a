from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("standings", "0003_entry_code")]
    operations = [
        migrations.AddField(
            model_name="entry",
            name="epoch",
            field=models.CharField(blank=True, default="", max_length=64),
            preserve_default=False,
        ),
        migrations.RemoveIndex(model_name="entry", name="entry_by_ratio"),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(fields=["board", "epoch"], name="entry_by_epoch"),
        ),
    ]
