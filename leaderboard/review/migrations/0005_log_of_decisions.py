import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

ACTS = (
    "claim", "release", "ask", "answer", "clear", "reject", "overturn", "appeal", "uphold", "grant", "undo", "note",
    "label", "unlabel", "hold", "rerun",
)  # fmt: skip

# The one change that the log ever sees: what an act is called.
UNLOCK = "ALTER TABLE review_decision DISABLE TRIGGER append_only;"
LOCK = "ALTER TABLE review_decision ENABLE TRIGGER append_only;"
TO_CLEAR = "UPDATE review_decision SET act = 'clear' WHERE act = 'publish';"
TO_PUBLISH = "UPDATE review_decision SET act = 'publish' WHERE act = 'clear';"


class Migration(migrations.Migration):
    dependencies = [("review", "0004_fingerprints")]
    operations = [
        migrations.RemoveConstraint(model_name="decision", name="decision_act_is_known"),
        migrations.RunSQL(UNLOCK + TO_CLEAR + LOCK, UNLOCK + TO_PUBLISH + LOCK),
        migrations.AlterField(
            model_name="decision",
            name="result",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="decisions", to="judging.result"
            ),
        ),
        migrations.AddField(
            model_name="decision",
            name="about",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="review.decision"
            ),
        ),
        migrations.AddField(
            model_name="decision",
            name="code",
            field=models.CharField(blank=True, default="", max_length=32),
            preserve_default=False,
        ),
        migrations.AddField(model_name="decision", name="needs_two", field=models.BooleanField(default=False)),
        migrations.AddField(
            model_name="decision",
            name="public_reason",
            field=models.TextField(blank=True, default=""),
            preserve_default=False,
        ),
        migrations.AddField(model_name="decision", name="rank", field=models.PositiveIntegerField(null=True)),
        migrations.AddField(model_name="decision", name="until", field=models.DateTimeField(null=True)),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(condition=Q(act__in=ACTS), name="decision_act_is_known"),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.UniqueConstraint(
                condition=Q(act__in=("undo", "answer", "appeal")),
                fields=("about", "act"),
                name="one_undoing_answer_and_appeal_a_decision",
            ),
        ),
        migrations.AddConstraint(
            model_name="decision",
            constraint=models.CheckConstraint(
                condition=Q(act="claim", until__isnull=False) | (~Q(act="claim") & Q(until__isnull=True)),
                name="decision_until_of_claims_only",
            ),
        ),
    ]
