from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0005_attempt_unfinished_is_current")]
    operations = [
        migrations.AddField(
            model_name="runner",
            name="epoch",
            field=models.CharField(blank=True, default="", max_length=64),
            preserve_default=False,
        ),
    ]
