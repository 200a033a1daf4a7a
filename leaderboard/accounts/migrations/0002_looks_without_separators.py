import django.db.models.functions.text
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_initial")]

    operations = [
        migrations.RemoveIndex(model_name="user", name="user_by_look"),
        migrations.AddIndex(
            model_name="user",
            index=models.Index(
                models.Func(
                    django.db.models.functions.text.Lower("username"),
                    models.Value("i1|0._-"),
                    models.Value("lllo"),
                    function="translate",
                    output_field=models.CharField(),
                ),
                name="user_by_look",
            ),
        ),
    ]
