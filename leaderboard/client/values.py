"""Readers of untrusted JSON: a value of another type than expected becomes an empty or missing value. Pure."""

import math
from collections.abc import Mapping
from typing import Any

JSON = Mapping[str, Any]


def sequence(value: object) -> list[Any]:
    """Return a list of the site's answer; any other value is an empty list."""
    return value if isinstance(value, list) else []


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, Any]]:
    return [item for item in sequence(value) if isinstance(item, dict)]


def number(value: object) -> float | None:
    """Return a finite number of the site's answer; None for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
