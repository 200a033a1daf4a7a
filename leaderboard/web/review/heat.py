"""Telemetry of a run as a strip: clocks, heat, power, throttle reasons, block after block. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import Any, Final

from leaderboard.web.review.evidence import Timed, items, mapping, real

LEFT, RIGHT, HEIGHT = 0.0, 800.0, 40.0
REASONS: Final = {  # bits of NVML's mask; docs/how-it-measures.md explains their meaning for a run
    0x4: ("power cap", "plain"),
    0x8: ("hardware slowdown", "bad"),
    0x10: ("sync boost", "warn"),
    0x20: ("software thermal", "warn"),
    0x40: ("hardware thermal", "bad"),
    0x80: ("power brake", "bad"),
    0x1: ("idle", "plain"),
    0x2: ("application clocks", "plain"),
    0x100: ("display clocks", "plain"),
}
UNKNOWN: Final = ~sum(REASONS)  # every further bit
QUANTITIES: Final = (  # title, unit, name of the reading
    ("SM or core clock", "MHz", "clock_mhz"),
    ("memory clock", "MHz", "memory_mhz"),
    ("temperature", "°C", "temperature_c"),
    ("power", "W", "power_w"),
    ("others on these cores", "%", "foreign_ns"),
    ("waited for a core", "%", "waited_ns"),
    ("stolen by the host", "%", "steal_ns"),
    ("thermal throttling", "%", "throttled_ns"),
)


@dataclass(frozen=True)
class Curve:
    """A quantity, with a point for each block that has a reading."""

    title: str
    unit: str
    path: str
    low: float
    high: float


@dataclass(frozen=True)
class Bar:
    x: float
    width: float


@dataclass(frozen=True)
class Reason:
    title: str
    tone: str
    bars: tuple[Bar, ...]
    blocks: int


@dataclass(frozen=True)
class Strip:
    lines: tuple[Curve, ...]
    reasons: tuple[Reason, ...]
    void: tuple[Bar, ...]
    borders: tuple[float, ...]  # between cases
    blocks: int
    right: float = RIGHT
    height: float = HEIGHT


def strip(cases: Sequence[Timed]) -> Strip | None:
    """Return the strip, or None if no block has a reading."""
    blocks = [block for timed in cases for block in timed.blocks]
    curves = []
    for title, unit, name in QUANTITIES:
        found = [
            (place, value) for place, block in enumerate(blocks) if (value := _value(block.heat, name)) is not None
        ]
        if found:
            low, high = min(value for _, value in found), max(value for _, value in found)
            points = (f"{_x(place + 0.5, len(blocks)):.1f},{_y(value, low, high):.1f}" for place, value in found)
            curves.append(Curve(title, unit, " ".join(points), low, high))
    masks = [_mask(block.heat) for block in blocks]
    reasons = []
    for bits, (title, tone) in (*REASONS.items(), (UNKNOWN, ("unknown reason", "warn"))):
        bars = _bars([bool(mask & bits) for mask in masks])
        if bars:
            reasons.append(Reason(title, tone, bars, len(bars)))
    if not curves and not reasons:
        return None
    ends = list(accumulate(len(timed.blocks) for timed in cases[:-1]))
    borders = tuple(_x(end, len(blocks)) for end in ends)
    return Strip(tuple(curves), tuple(reasons), _bars([bool(block.void) for block in blocks]), borders, len(blocks))


def _value(heat: Mapping[str, Any], name: str) -> float | None:
    """Return a reading after a block. A time becomes its share of the block, in per cent of a core."""
    before, after = mapping(heat.get("before")), mapping(heat.get("after"))
    if not name.endswith("_ns"):
        return real(after.get(name))
    began, ended = _total(before.get(name)), _total(after.get(name))
    length = (real(after.get("at_ns")) or 0) - (real(before.get("at_ns")) or 0)
    return None if began is None or ended is None or length <= 0 else 100 * max(0.0, ended - began) / length


def _total(value: object) -> float | None:
    if isinstance(value, list):
        return float(sum(number for item in value if (number := real(item)) is not None)) if value else None
    return real(value)


def _mask(heat: Mapping[str, Any]) -> int:
    """Return all bits that were seen in a block."""
    seen = [mapping(heat.get(name)).get("mask") for name in ("before", "after")]
    seen += [poll[1] for poll in items(heat.get("polls")) if isinstance(poll, list) and len(poll) > 1]
    whole = (mask for mask in seen if isinstance(mask, int) and not isinstance(mask, bool) and 0 <= mask < 1 << 64)
    return reduce(or_, whole, 0)


def _bars(marked: Sequence[bool]) -> tuple[Bar, ...]:
    """Return a bar for each marked block."""
    blocks = len(marked)
    return tuple(
        Bar(_x(place, blocks), max(1.0, _x(place + 1, blocks) - _x(place, blocks)))
        for place, is_marked in enumerate(marked)
        if is_marked
    )


def _x(place: float, blocks: int) -> float:
    return round(LEFT + (RIGHT - LEFT) * place / max(1, blocks), 1)


def _y(value: float, low: float, high: float) -> float:
    share = (value - low) / (high - low) if high > low else 0.5
    return HEIGHT - 3 - (HEIGHT - 6) * share
