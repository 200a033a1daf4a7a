from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("operations", "0003_desk")]

    operations = [
        migrations.CreateModel(
            name="Mail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("subject", models.CharField(max_length=200)),
                ("sealed", models.TextField()),
                ("created_at", models.DateTimeField()),
                ("try_at", models.DateTimeField()),
                ("tries", models.PositiveIntegerField(default=0)),
                ("failure", models.CharField(blank=True, max_length=300)),
                ("given_up_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [
                    models.Index(condition=models.Q(("given_up_at", None)), fields=["try_at"], name="mail_waiting")
                ],
            },
        ),
    ]
