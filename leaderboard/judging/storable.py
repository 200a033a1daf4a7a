"""Pure: refuse JSON that PostgreSQL cannot store, although Python can read it, and name the place."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from leaderboard.errors import UserError

MAX_DEPTH: Final = 32
MAX_WHOLE: Final = 2**63
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def check_storable(value: Any, field: str, depth: int = 0) -> None:
    """Raise UserError with the place of an unstorable value, for example `report.cases[2].message`."""
    if depth > MAX_DEPTH:
        raise UserError(field, None, f"nested deeper than {MAX_DEPTH}")
    if isinstance(value, str):
        if _UNSTORABLE.search(value):
            raise UserError(field, None, "has a NUL character or half of a surrogate pair")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise UserError(field, None, "not a finite number")
    elif isinstance(value, int):
        if abs(value) >= MAX_WHOLE:
            raise UserError(field, None, "a whole number beyond 64 bits")
    elif isinstance(value, dict):
        for key, item in value.items():
            check_storable(key, f"{field}: a key", depth)
            check_storable(item, f"{field}.{key}", depth + 1)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            check_storable(item, f"{field}[{index}]", depth + 1)
