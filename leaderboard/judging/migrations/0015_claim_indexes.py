import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("judging", "0014_attempt_owner"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterField(
            model_name="attempt",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AlterField(model_name="attempt", name="is_ranked", field=models.BooleanField()),
        migrations.AlterField(model_name="attempt", name="sent_at", field=models.DateTimeField()),
        migrations.AlterField(
            model_name="attempt",
            name="runner",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="attempts",
                to="judging.runner",
            ),
        ),
        migrations.RemoveIndex(model_name="attempt", name="attempt_queue"),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                condition=models.Q(("state", "queued")), fields=["hardware", "is_shadow", "id"], name="attempt_queue"
            ),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                condition=models.Q(("rejudge_set__isnull", True)),
                fields=["hardware", "finished_at"],
                name="attempt_device_time",
            ),
        ),
        migrations.AddIndex(
            model_name="attempt",
            index=models.Index(
                condition=models.Q(("outcome", "unmeasurable")),
                fields=["submission", "runner"],
                name="attempt_unmeasurable",
            ),
        ),
        migrations.AddIndex(
            model_name="attempt", index=models.Index(fields=["runner", "token"], name="attempt_by_runner")
        ),
    ]
