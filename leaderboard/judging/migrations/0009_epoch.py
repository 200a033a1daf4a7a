from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("judging", "0008_attempt_measured_again")]
    operations = [
        migrations.CreateModel(
            name="Epoch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hardware", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=64)),
                ("opened_at", models.DateTimeField()),
                ("current_since", models.DateTimeField()),
            ],
            options={
                "ordering": ["hardware", "-current_since"],
                "constraints": [
                    models.UniqueConstraint(fields=("hardware", "name"), name="one_epoch_a_hardware_and_name"),
                    models.CheckConstraint(condition=models.Q(("name", ""), _negated=True), name="epoch_has_a_name"),
                ],
            },
        ),
    ]
