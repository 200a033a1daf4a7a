from django.db import migrations, models

TEXTS = (
    ("problemversion", "origin", 700),
    ("setupload", "address", 300),
    ("setupload", "ref", 200),
    ("setupload", "folder", 300),
    ("setupload", "commit", 64),
    ("setupload", "problem", 500),
)


class Migration(migrations.Migration):
    dependencies = [("competitions", "0002_words")]

    operations = [
        *(
            migrations.AddField(
                model_name=model,
                name=name,
                field=models.CharField(blank=True, db_default="", default="", max_length=length),
            )
            for model, name, length in TEXTS
        ),
        migrations.AddField(
            model_name="setupload", name="fetching_since", field=models.DateTimeField(blank=True, null=True)
        ),
    ]
