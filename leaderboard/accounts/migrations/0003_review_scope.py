from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_linked_logins"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="apitoken",
            name="token_scopes_are_known",
        ),
        migrations.AddConstraint(
            model_name="apitoken",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("scopes__contained_by", ["read", "submit", "review"]), models.Q(("scopes", []), _negated=True)
                ),
                name="token_scopes_are_known",
            ),
        ),
    ]
