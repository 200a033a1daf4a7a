"""Text from the site on its way to a terminal: no control codes, no direction tricks, no markup, no flood."""

from __future__ import annotations

import datetime as dt
import math
import unicodedata
from typing import Any, Final

from rich.text import Text

from ..wording.figures import NONE, THIN

MAX_CHARS: Final = 20_000
_DROPPED: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def clean(value: object, limit: int = MAX_CHARS) -> str:
    """Keep printable characters and line breaks: an escape sequence loses its escape, a bidi override its effect."""
    text = str(value)
    spaced = text[:limit].replace("\t", " ").replace(THIN, " ")
    kept = "".join(
        character for character in spaced if character == "\n" or unicodedata.category(character) not in _DROPPED
    )
    return kept + (" […]" if len(text) > limit else "")


def line(value: object, limit: int = 500) -> str:
    """Return the text cleaned, on a single line."""
    return " ".join(clean(value, limit).split("\n"))


def plain(value: object, style: str = "", limit: int = MAX_CHARS) -> Text:
    """Return cleaned text for rich, which would read square brackets in a str as markup."""
    return Text(clean(value, limit), style=style)


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


def moment(value: object) -> str:
    """Format an ISO moment as date and minute in UTC; return any other text as it came."""
    try:
        parsed = dt.datetime.fromisoformat(str(value))
        known = parsed.astimezone(dt.UTC) if parsed.tzinfo else None
    except (ValueError, OverflowError):
        known = None
    return known.strftime("%Y-%m-%d %H:%M UTC") if known else line(value or NONE, 64)
