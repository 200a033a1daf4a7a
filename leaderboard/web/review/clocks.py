"""Both clocks' samples of a case as drawings: points in the units of an SVG's viewBox. Pure.

Each clock has a panel: time upwards, calls from left to right in the order in which they were made. The judge's clock
sees the whole call with its constant overhead. The tenant's sees the kernel alone, and only the tenant vouches for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from leaderboard.web.review.evidence import SIDES, Block, Timed
from leaderboard.wording.figures import duration_us

LEFT, RIGHT, TOP, BOTTOM = 60.0, 408.0, 10.0, 150.0
MOST_POINTS: Final = 600  # per side and panel; of more points every second, third, …
ABOVE: Final = 0.99  # the share of samples that the scale fits; higher samples lie on the upper edge
STEPS: Final = 3


@dataclass(frozen=True)
class Points:
    side: str
    path: str  # a dot per call: pieces of no length with round ends
    calls: int
    median_us: float


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Span:
    """Blocks that do not count."""

    x: float
    width: float
    why: str


@dataclass(frozen=True)
class Panel:
    clock: str
    sides: tuple[Points, ...]
    up: tuple[Tick, ...]
    void: tuple[Span, ...]
    said: str  # text alternative
    left: float = LEFT
    right: float = RIGHT
    top: float = TOP
    bottom: float = BOTTOM


def panels(timed: Timed) -> list[Panel]:
    """Draw the judge's clock, then the tenant's. A clock without kept samples has no panel."""
    drawn = [
        _panel("judge's clock", timed.blocks, [block.wall_us for block in timed.blocks]),
        _panel("tenant's clock", timed.blocks, [block.inner_us for block in timed.blocks]),
    ]
    return [panel for panel in drawn if panel is not None]


def _panel(clock: str, blocks: Sequence[Block], times: Sequence[tuple[float, ...]]) -> Panel | None:
    samples = sorted(time for block in times for time in block if time > 0)
    if not samples:
        return None
    low, high = samples[0] * 0.97, samples[int(ABOVE * (len(samples) - 1))] * 1.03
    total = sum(len(block) for block in times)
    placed: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
    void, at = [], 0
    for block, calls in zip(blocks, times, strict=True):
        x = [_x(at + number, total) for number in range(len(calls))]
        placed[block.side] += [(across, time) for across, time in zip(x, calls, strict=True) if time > 0]
        if block.void and calls:
            void.append(Span(_x(at, total), _x(at + len(calls), total) - _x(at, total), block.void))
        at += len(calls)
    sides = tuple(_points(side, found, low, high) for side, found in placed.items() if found)
    ticks = tuple(Tick(_y(value, low, high), duration_us(value)) for value in _levels(low, high))
    said = "; ".join(f"{one.side}: {one.calls} calls, median {duration_us(one.median_us)}" for one in sides)
    return Panel(clock, sides, ticks, tuple(void), said)


def _points(side: str, found: Sequence[tuple[float, float]], low: float, high: float) -> Points:
    step = -(-len(found) // MOST_POINTS)
    path = "".join(f"M{x:.1f} {_y(time, low, high):.1f}h0" for x, time in found[::step])
    times = sorted(time for _, time in found)
    return Points(side, path, len(found), times[len(times) // 2])


def _levels(low: float, high: float) -> list[float]:
    return [low + (high - low) * step / STEPS for step in range(STEPS + 1)]


def _x(place: int, total: int) -> float:
    return LEFT + (RIGHT - LEFT) * (place + 0.5) / max(1, total)


def _y(time: float, low: float, high: float) -> float:
    share = (min(time, high) - low) / (high - low) if high > low else 0.5
    return BOTTOM - (BOTTOM - TOP) * share
