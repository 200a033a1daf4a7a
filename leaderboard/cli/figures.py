"""Format of numbers and moments, as on the site's pages. Any value from the site has a printable form.

A ratio is candidate / baseline, so below 1 is faster. People read its inverse, the speedup: "2.410×" is 2.41 times as
fast as the baseline. A half-width is relative: 0.012 is "±1.2 %".
"""

from __future__ import annotations

import datetime as dt
import math
from typing import Final

from leaderboard.cli.text import line

NONE: Final = "–"
_UNITS: Final = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))  # microseconds


def microseconds(value: object) -> str:
    """Format a time with a fitting unit: 900 → "900.0 µs", 12345.6 → "12.35 ms"."""
    number = _number(value)
    if number is None or number < 0:
        return NONE
    rounded = float(f"{number:.3e}")  # before the choice of unit: 999.96 µs are 1.000 ms
    scale, unit = next((pair for pair in _UNITS if rounded >= pair[0]), _UNITS[-1])
    return f"{_significant(rounded / scale, 4)} {unit}"


def speedup(ratio: object) -> str:
    """Format the speedup over the baseline."""
    number = _number(ratio)
    if number is None or number <= 0 or not math.isfinite(1 / number):
        return NONE
    return f"{_significant(1 / number, 3 if 1 / number < 1 else 4)}×"


def interval(half_width: object) -> str:
    """Format half the width of the 95 % interval, in per cent; never rounded down to zero."""
    number = _number(half_width)
    if number is None or number < 0:
        return NONE
    percent = number * 100
    return "±<0.05 %" if percent < 0.05 else f"±{percent:.1f} %" if percent < 10 else f"±{percent:.0f} %"


def share(value: object) -> str:
    """Format an upper bound in per cent, rounded up."""
    number = _number(value)
    if number is None or not 0 <= number <= 1:
        return NONE
    tenths = math.ceil(number * 1000 - 1e-9)
    return f"{tenths / 10:.1f} %" if tenths < 100 else f"{math.ceil(tenths / 10)} %"


def moment(value: object) -> str:
    """Format an ISO moment as date and minute in UTC; return any other text as it came."""
    try:
        parsed = dt.datetime.fromisoformat(str(value))
        known = parsed.astimezone(dt.UTC) if parsed.tzinfo else None
    except (ValueError, OverflowError):
        known = None
    return known.strftime("%Y-%m-%d %H:%M UTC") if known else line(value or NONE, 64)


def _significant(value: float, digits: int) -> str:
    if not math.isfinite(value):  # a finite number may leave the range when its unit changes
        return NONE
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".partition("e")[2])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
