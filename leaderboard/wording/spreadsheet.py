"""CSV that a spreadsheet can open safely, for site and command line."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

FORMULAS: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # a spreadsheet may run these


def csv_lines(rows: Iterable[Sequence[Any]]) -> str:
    """Return rows as CSV. A cell that looks like a formula is marked as text, because strangers choose names."""
    text = io.StringIO()
    csv.writer(text).writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    return value.isoformat() if isinstance(value, datetime) else value


def _cell(value: Any) -> Any:
    value = plain(value)
    if isinstance(value, list | dict):
        value = json.dumps(value)
    if isinstance(value, str) and value.lstrip(" ").startswith(FORMULAS):
        return f"'{value}"
    return "" if value is None else value
