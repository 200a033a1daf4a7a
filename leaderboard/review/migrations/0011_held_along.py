from django.db import migrations, models
from django.db.models import Q

STATES = ("waiting", "asked", "half_cleared", "cleared", "rejected", "appealed", "not_held")
ACTS = (
    *("claim", "release", "ask", "answer", "clear", "reject", "overturn", "appeal", "uphold", "grant", "undo"),
    *("note", "label", "unlabel", "hold", "hold_along", "rerun"),
)


class Migration(migrations.Migration):
    dependencies = [("review", "0010_cases_by_age")]
    operations = [
        migrations.RemoveConstraint("case", "case_state_is_known"),
        migrations.RemoveConstraint("decision", "decision_act_is_known"),
        migrations.AddConstraint(
            "case", models.CheckConstraint(condition=Q(state__in=STATES), name="case_state_is_known")
        ),
        migrations.AddConstraint(
            "decision", models.CheckConstraint(condition=Q(act__in=ACTS), name="decision_act_is_known")
        ),
    ]
