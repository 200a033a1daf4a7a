"""The only function that writes audit rows; call it in the transaction of the act itself."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models

from leaderboard.audit.models import Row


def record(
    *,
    act: str,
    target: models.Model,
    actor: AbstractBaseUser | None,
    reason: str,
    now: datetime,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> Row:
    """Write an audit row. `actor` None means that the site acts automatically."""
    return Row.objects.create(
        actor_id=None if actor is None else actor.pk,
        act=act,
        object_type=target._meta.label_lower,
        object_id=str(target.pk),
        reason=reason,
        before=before or {},
        after=after or {},
        created_at=now,
    )
