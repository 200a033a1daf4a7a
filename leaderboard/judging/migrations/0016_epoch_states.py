"""An epoch has a state, and a contest pins one. What boards ranked until now stays current."""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def _give_states(apps: Any, schema_editor: Any) -> None:
    """The newest epoch that something was ranked in is current; newer ones wait, older ones were current once."""
    Epoch, Result, Runner = (apps.get_model("judging", name) for name in ("Epoch", "Result", "Runner"))
    for hardware in Epoch.objects.order_by().values_list("hardware", flat=True).distinct():
        epochs = list(Epoch.objects.filter(hardware=hardware).order_by("-current_since", "-pk"))
        ranked = Result.objects.filter(
            attempt__hardware=hardware, ratio__isnull=False, attempt__submission__mode="ranked"
        )
        current = next((one for one in epochs if ranked.filter(epoch=one.name).exists()), epochs[0])
        state = "proposed"
        for epoch in epochs:
            runner = Runner.objects.filter(hardware=hardware, epoch=epoch.name).first()
            epoch.fingerprint = runner.fingerprint if runner else {}
            epoch.state = "current" if epoch.pk == current.pk else state
            if epoch.pk == current.pk:
                state = "retired"
            epoch.save(update_fields=["state", "fingerprint"])


class Migration(migrations.Migration):
    dependencies = [
        ("competitions", "0008_default_licence"),
        ("judging", "0015_claim_indexes"),
    ]

    operations = [
        migrations.AddField("epoch", "state", models.CharField(default="proposed", max_length=16)),
        migrations.AddField("epoch", "fingerprint", models.JSONField(default=dict)),
        migrations.AlterField("epoch", "current_since", models.DateTimeField(null=True)),
        migrations.AlterModelOptions("epoch", options={"ordering": ["hardware", "-opened_at", "-id"]}),
        migrations.CreateModel(
            name="EpochPin",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("hardware", models.CharField(max_length=64)),
                ("epoch", models.CharField(blank=True, max_length=64)),
                ("pinned_at", models.DateTimeField()),
                (
                    "competition",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="epoch_pins",
                        to="competitions.competition",
                    ),
                ),
            ],
            options={
                "ordering": ["competition_id", "hardware"],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("competition", "hardware"), name="one_epoch_pin_a_competition_and_hardware"
                    )
                ],
            },
        ),
        migrations.RunPython(_give_states, migrations.RunPython.noop),
    ]
