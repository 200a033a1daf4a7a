"""Numbers as people read them: times, speedups, intervals, spans. Pure; the only module that rounds for people.

It serves the pages and the command line. A narrow no-break space joins number and unit.

A ratio is candidate / baseline, so below 1 is faster. People read its inverse, the speedup: "2.410×" is 2.41 times as
fast as the baseline. A half-width is relative: 0.012 is "±1.2 %".
"""

import datetime as dt
import math
from typing import Final

THIN: Final = "\N{NARROW NO-BREAK SPACE}"
NONE: Final = "–"
CAUTIOUS: Final = 0.01  # a speedup this much below the quotient of its two times is explained
_UNITS: Final = ((1e6, "s"), (1e3, "ms"), (1.0, "µs"), (1e-3, "ns"))  # in microseconds


def significant(value: float, digits: int = 4) -> str:
    """Format `value` in plain notation with that many significant digits: 1234.5 → "1,234"; 0.01234 → "0.01234"."""
    if not math.isfinite(value):  # a finite number may leave the range when its unit changes
        return NONE
    if value == 0:
        return "0"
    exponent = int(f"{abs(value):.{digits - 1}e}".partition("e")[2])
    return f"{value:,.{max(0, digits - 1 - exponent)}f}"


def duration_us(value: float | None) -> str:
    """Format microseconds as a time with a fitting unit: 0.4 → "400.0 ns", 12345.6 → "12.35 ms"."""
    if value is None or value < 0:
        return NONE
    rounded = float(f"{value:.3e}")  # before the choice of unit: 999.96 µs are 1.000 ms
    scale, unit = next((pair for pair in _UNITS if rounded >= pair[0]), _UNITS[-1])
    return f"{significant(rounded / scale)}{THIN}{unit}"


def speedup(ratio: float | None) -> str:
    """Format the speedup of a ratio, with enough digits that two kernels of equal figure are tied."""
    if ratio is None or ratio <= 0:
        return NONE
    value = 1 / ratio
    return f"{significant(value, 3 if value < 1 else 4)}×"


def times(value: float | None) -> str:
    """Format a speedup, like `speedup` the ratio that it is the inverse of."""
    return NONE if value is None or value <= 0 else speedup(1 / value)


def times_alone(ratio: float | None, measured_us: float | None, baseline_us: float | None) -> float | None:
    """Return the ratio of a case's two times where the ratio that ranks is more cautious, else None.

    The judge counts noise and void quads against the candidate, so a speedup may lie below the quotient of its times.
    """
    if not ratio or not measured_us or not baseline_us:
        return None
    alone = measured_us / baseline_us
    return alone if ratio > alone * (1 + CAUTIOUS) else None


def caution(alone: float | None) -> str:
    """Explain a cautious speedup beside the figure. `alone`: the result of `times_alone`."""
    return f"cautious for noise; the two times alone give {speedup(alone)}" if alone else ""


def interval(half_width: float | None) -> str:
    """Format the relative half-width of the 95 % interval, in per cent; never rounded down to zero."""
    if half_width is None or half_width < 0:
        return ""
    percent = half_width * 100
    if percent < 0.05:
        return f"±<0.05{THIN}%"
    return f"±{percent:.1f}{THIN}%" if percent < 10 else f"±{percent:.0f}{THIN}%"


def share(value: float | None) -> str:
    """Format a bound, rounded up: 0.0123 → "≤ 1.3 %"."""
    if value is None:
        return NONE
    return f"≤{THIN}{rounded_up(value)}" if value else f"0{THIN}%"


def rounded_up(value: float) -> str:
    """Format a share of a whole, never below its value: 0.0123 → "1.3 %"."""
    tenths = math.ceil(value * 1000 - 1e-9)
    return f"{tenths / 10:.1f}{THIN}%" if tenths < 100 else f"{math.ceil(tenths / 10)}{THIN}%"


def percent(value: float) -> str:
    """Format a share of a whole: 0.256 → "25.6 %", 1 → "100 %"."""
    text = f"{value * 100:.1f}".removesuffix(".0")
    return f"{text}{THIN}%"


def share_with(value: float, low: float, high: float) -> str:
    """Format a share with its interval: "25 % (4.6 % to 69.9 %)"."""
    return f"{percent(value)} ({percent(low)} to {percent(high)})"


def change(value: float) -> str:
    """Format a relative change, signed: -0.123 → "−12.3 %"."""
    return f"{'−' if value < 0 else '+'}{percent(abs(value))}"


def span(delta: dt.timedelta) -> str:
    """Format a duration in its largest fitting unit: "3 days", "5 hours", "40 seconds"."""
    seconds = int(abs(delta.total_seconds()))
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {name}{'' if count == 1 else 's'}"
    return f"{seconds} second{'' if seconds == 1 else 's'}"


def ago(moment: dt.datetime, now: dt.datetime) -> str:
    """Format a moment relative to `now`: "2 hours ago", "in 3 days"."""
    if abs(now - moment) < dt.timedelta(seconds=5):
        return "just now"
    return f"{span(now - moment)} ago" if moment <= now else f"in {span(moment - now)}"
