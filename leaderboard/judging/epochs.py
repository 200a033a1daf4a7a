"""Timing epochs of a hardware: opened by the first runner that says one, preferred again by an organiser."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from django.db import transaction

from leaderboard.accounts.models import User
from leaderboard.accounts.permissions import check_reason
from leaderboard.audit.record import record
from leaderboard.errors import UserError
from leaderboard.judging.models import EPOCH_CHARS, Epoch

_NAME: Final = re.compile(rf"[A-Za-z0-9:._-]{{0,{EPOCH_CHARS}}}")


def check_epoch(name: str, field: str) -> None:
    if not _NAME.fullmatch(name):
        raise UserError(field, name, f"use letters, digits, : . _ and - (at most {EPOCH_CHARS})")


def open_epoch(*, hardware: str, name: str, now: datetime) -> None:
    """Nothing happens where it is open already, or the runner said none."""
    if name:
        Epoch.objects.get_or_create(hardware=hardware, name=name, defaults={"opened_at": now, "current_since": now})


@transaction.atomic
def choose_epoch(*, hardware: str, name: str, actor: User | None, reason: str, now: datetime) -> None:
    """From now on boards of this hardware rank this epoch, until a newer one opens: after a rolled-back driver, say."""
    check_reason(reason)
    epoch = Epoch.objects.select_for_update().filter(hardware=hardware, name=name).first()
    if epoch is None:
        known = ", ".join(Epoch.objects.filter(hardware=hardware).values_list("name", flat=True)[:20]) or "none"
        raise UserError("epoch", name, f"no such epoch of {hardware}; there are {known}", status=404)
    before = {"current_since": epoch.current_since.isoformat()}
    epoch.current_since = now
    epoch.save(update_fields=["current_since"])
    record(act="choose_epoch", target=epoch, actor=actor, reason=reason, now=now, before=before)
