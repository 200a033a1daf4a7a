from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("judging", "0002_append_only")]
    operations = [
        migrations.RunSQL("CREATE SEQUENCE judging_fencing_token AS bigint;", "DROP SEQUENCE judging_fencing_token;")
    ]
