"""Telemetry of a run as a strip: clocks, heat, power, throttle reasons, block after block. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Final

from leaderboard.web.review.evidence import Timed, real
from runner.evidence.throttle import Window

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
UNKNOWN: Final = ("unknown reason", "warn")


@dataclass(frozen=True)
class Line:
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
    lines: tuple[Line, ...]
    reasons: tuple[Reason, ...]
    void: tuple[Bar, ...]
    borders: tuple[float, ...]  # between cases
    blocks: int
    right: float = RIGHT
    height: float = HEIGHT


def strip(cases: Sequence[Timed]) -> Strip | None:
    """Return the strip, or None if no block has a reading."""
    blocks = [block for timed in cases for block in timed.blocks]
    lines = []
    for title, unit, read in QUANTITIES:
        found = [(place, value) for place, block in enumerate(blocks) if (value := read(block.heat)) is not None]
        if found:
            low, high = min(value for _, value in found), max(value for _, value in found)
            points = " ".join(
                f"{_x(place + 0.5, len(blocks)):.1f},{_y(value, low, high):.1f}" for place, value in found
            )
            lines.append(Line(title, unit, points, low, high))
    masks = [reduce(or_, block.heat.masks, 0) for block in blocks]
    reasons = []
    for bits, (title, tone) in {**REASONS, ~reduce(or_, REASONS): UNKNOWN}.items():
        bars = tuple(_bar(place, len(blocks)) for place, mask in enumerate(masks) if mask & bits)
        if bars:
            reasons.append(Reason(title, tone, bars, len(bars)))
    if not lines and not reasons:
        return None
    ends, borders = 0, []
    for timed in cases[:-1]:
        ends += len(timed.blocks)
        borders.append(_x(ends, len(blocks)))
    void = tuple(_bar(place, len(blocks)) for place, block in enumerate(blocks) if block.void)
    return Strip(tuple(lines), tuple(reasons), void, tuple(borders), len(blocks))


def _after(name: str) -> Callable[[Window], float | None]:
    return lambda heat: real(getattr(heat.after, name))


def _share_of_time(name: str) -> Callable[[Window], float | None]:
    """Return a reader of the share of a block that a CPU spent elsewhere, in per cent of one core."""

    def read(heat: Window) -> float | None:
        began, ended = _sum(getattr(heat.before, name)), _sum(getattr(heat.after, name))
        length = (real(heat.after.at_ns) or 0) - (real(heat.before.at_ns) or 0)
        return None if began is None or ended is None or length <= 0 else 100 * max(0.0, ended - began) / length

    return read


QUANTITIES: Final = (
    ("SM or core clock", "MHz", _after("clock_mhz")),
    ("memory clock", "MHz", _after("memory_mhz")),
    ("temperature", "°C", _after("temperature_c")),
    ("power", "W", _after("power_w")),
    ("others on these cores", "%", _share_of_time("foreign_ns")),
    ("waited for a core", "%", _share_of_time("waited_ns")),
    ("stolen by the host", "%", _share_of_time("steal_ns")),
    ("thermal throttling", "%", _share_of_time("throttled_ns")),
)


def _sum(value: object) -> float | None:
    if isinstance(value, tuple):
        return float(sum(number for item in value if (number := real(item)) is not None)) if value else None
    return real(value)


def _bar(place: int, blocks: int) -> Bar:
    return Bar(_x(place, blocks), max(1.0, _x(place + 1, blocks) - _x(place, blocks)))


def _x(place: float, blocks: int) -> float:
    return round(LEFT + (RIGHT - LEFT) * place / max(1, blocks), 1)


def _y(value: float, low: float, high: float) -> float:
    share = (value - low) / (high - low) if high > low else 0.5
    return HEIGHT - 3 - (HEIGHT - 6) * share
