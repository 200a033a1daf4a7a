from django.db import migrations, models


class Migration(migrations.Migration):
    accepted = {
        "constraint-missing-not-valid": "some hundred rows",
    }
    dependencies = [("competitions", "0005_precision_of_problem_sets")]

    operations = [
        migrations.AddField(
            model_name="competition",
            name="agents_rank",
            field=models.CharField(db_default="shared", default="shared", max_length=16),
        ),
        migrations.AddConstraint(
            model_name="competition",
            constraint=models.CheckConstraint(
                condition=models.Q(("agents_rank__in", ("shared", "apart"))), name="competition_agents_rank_is_known"
            ),
        ),
    ]
