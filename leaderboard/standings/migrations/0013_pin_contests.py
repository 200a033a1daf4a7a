"""Contests that have ranked lines pin the epoch that their boards rank: of those with lines, the latest current one."""

from __future__ import annotations

from typing import Any

from django.db import migrations
from django.db.models import Q


def _pin(apps: Any, schema_editor: Any) -> None:
    Board = apps.get_model("competitions", "Board")
    Entry = apps.get_model("standings", "Entry")
    Epoch, EpochPin = (apps.get_model("judging", name) for name in ("Epoch", "EpochPin"))
    contests = Board.objects.filter(
        Q(competition__deadline__isnull=False) | Q(competition__tracks__prizes__isnull=False)
    )
    for competition, hardware in set(contests.values_list("competition", "hardware")):
        lines = Entry.objects.filter(board__competition=competition, board__hardware=hardware)
        names = set(lines.order_by().values_list("epoch", flat=True))
        known = Epoch.objects.filter(hardware=hardware, name__in=names).order_by("-current_since", "-pk").first()
        if known is not None:
            EpochPin.objects.create(
                competition_id=competition, hardware=hardware, epoch=known.name, pinned_at=known.opened_at
            )


class Migration(migrations.Migration):
    dependencies = [
        ("standings", "0011_entry_front"),
        ("competitions", "0008_default_licence"),
        ("judging", "0017_one_current_epoch"),
    ]

    operations = [migrations.RunPython(_pin, migrations.RunPython.noop)]
