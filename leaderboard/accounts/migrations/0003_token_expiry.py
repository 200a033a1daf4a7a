from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_looks_without_separators")]

    operations = [migrations.AddField("apitoken", "expires_at", models.DateTimeField(null=True))]
