"""An index of how user names look: a name that only looks different is found without reading all of them."""

from django.db import migrations, models
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_session_generation")]

    operations = [
        migrations.AddIndex(
            "user",
            models.Index(
                models.Func(
                    Lower("username"),
                    models.Value("i1|0"),
                    models.Value("lllo"),
                    function="translate",
                    output_field=models.CharField(),
                ),
                name="user_by_look",
            ),
        ),
    ]
