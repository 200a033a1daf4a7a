from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_desk")]

    operations = [migrations.AddField("apitoken", "expires_at", models.DateTimeField(null=True))]
