from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("standings", "0010_changes")]

    operations = [
        migrations.RemoveIndex(model_name="entry", name="entry_by_epoch"),
        migrations.AddIndex(
            model_name="entry",
            index=models.Index(
                fields=["board", "epoch", "ratio", "id"], include=("entrant", "submitted_at"), name="entry_front"
            ),
        ),
    ]
