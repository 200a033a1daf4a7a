from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("submissions", "0002_append_only")]
    operations = [
        migrations.AddField(
            model_name="submission",
            name="code_digest",
            field=models.CharField(blank=True, default="", max_length=80),
            preserve_default=False,
        ),
        migrations.AddConstraint(
            model_name="submission",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("code_digest", ""),
                    ("code_digest__regex", "^(tokens|text)[0-9]+:[0-9a-f]{64}$"),
                    _connector="OR",
                ),
                name="submission_code_digest_says_its_kind",
            ),
        ),
    ]
