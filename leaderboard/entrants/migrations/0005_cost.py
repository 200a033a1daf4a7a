from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("entrants", "0004_words")]
    operations = [
        migrations.AddField("entrant", "cost_usd", models.DecimalField(decimal_places=2, max_digits=9, null=True))
    ]
