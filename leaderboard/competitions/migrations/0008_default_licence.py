from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0007_code_opens_all"),
    ]

    operations = [
        migrations.AddField(
            model_name="competition",
            name="default_licence",
            field=models.CharField(default="MIT", max_length=32),
        ),
    ]
