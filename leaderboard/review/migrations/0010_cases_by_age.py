from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("review", "0009_hints")]
    operations = [
        migrations.AddIndex(model_name="case", index=models.Index(fields=["opened_at", "result"], name="case_by_age")),
    ]
