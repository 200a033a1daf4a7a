"""Field values as the audit keeps them: JSON, times in ISO 8601, amounts as text. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any


def plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in values.items()}


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the old and new values of the fields that differ."""
    names = [name for name in after if before.get(name) != after[name]]
    return plain({name: before.get(name) for name in names}), plain({name: after[name] for name in names})


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return value.isoformat()
        case Decimal():
            return str(value)
    return value
