"""The only function that writes audit rows; call it in the transaction of the act itself."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import structlog
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import models

from leaderboard.audit.models import Row


def record(
    act: str,
    target: models.Model,
    *,
    actor: AbstractBaseUser | None,
    now: datetime,
    reason: str = "",
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> Row:
    """Write an audit row. `actor` None means that the site acts automatically.

    `before` and `after` are values of fields. Times are kept in ISO 8601, amounts as text. Address and
    id of the request come from web/traffic.py, which gives them to every line of the log as well.
    """
    around = structlog.contextvars.get_contextvars()
    return Row.objects.create(
        actor_id=None if actor is None else actor.pk,
        act=act,
        object_type=target._meta.label_lower,
        object_id=str(target.pk),
        reason=reason,
        before={name: _plain(value) for name, value in (before or {}).items()},
        after={name: _plain(value) for name, value in (after or {}).items()},
        address=str(around.get("address", "")),
        request=str(around.get("request", "")),
        created_at=now,
    )


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the old and new values of the fields that differ."""
    names = [name for name in after if before.get(name) != after[name]]
    return {name: before.get(name) for name in names}, {name: after[name] for name in names}


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case Decimal():
            return str(value)
    return value
