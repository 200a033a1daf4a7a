from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("judging", "0020_attempt_not_before")]
    operations = [migrations.DeleteModel("ReferenceTime")]
