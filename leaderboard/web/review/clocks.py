"""Both clocks' samples of a case as drawings: points in the units of an SVG's viewBox. Pure.

Each clock has a panel: time upwards, calls from left to right in the order in which they were made. The judge's clock
sees the whole call with its constant overhead. The tenant's sees the kernel alone, and only the tenant vouches for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from leaderboard.web.boards.curves import Tick
from leaderboard.web.review.evidence import Timed
from leaderboard.wording.figures import duration_us
from runner.evidence.sample import SIDES

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
    found = []
    for clock, times in (
        ("judge's clock", [block.wall_us for block in timed.blocks]),
        ("tenant's clock", [block.inner_us for block in timed.blocks]),
    ):
        samples = sorted(time for block in times for time in block if time > 0)
        if not samples:
            continue
        low, high = samples[0] * 0.97, samples[int(ABOVE * (len(samples) - 1))] * 1.03
        total = sum(len(block) for block in times)
        placed: dict[str, list[tuple[float, float]]] = {side: [] for side in SIDES}
        void, at = [], 0
        for block, calls in zip(timed.blocks, times, strict=True):
            x = [_x(at + number, total) for number in range(len(calls))]
            placed[block.side] += [(across, time) for across, time in zip(x, calls, strict=True) if time > 0]
            if block.void and calls:
                void.append(Span(_x(at, total), _x(at + len(calls), total) - _x(at, total), block.void))
            at += len(calls)
        sides = []
        for side, points in placed.items():
            if points:
                shown = points[:: -(-len(points) // MOST_POINTS)]
                path = "".join(f"M{across:.1f} {_y(time, low, high):.1f}h0" for across, time in shown)
                ordered = sorted(time for _, time in points)
                sides.append(Points(side, path, len(points), ordered[len(ordered) // 2]))
        levels = [low + (high - low) * step / STEPS for step in range(STEPS + 1)]
        ticks = tuple(Tick(_y(value, low, high), duration_us(value)) for value in levels)
        said = "; ".join(f"{one.side}: {one.calls} calls, median {duration_us(one.median_us)}" for one in sides)
        found.append(Panel(clock, tuple(sides), ticks, tuple(void), said))
    return found


def _x(place: int, total: int) -> float:
    return LEFT + (RIGHT - LEFT) * (place + 0.5) / max(1, total)


def _y(time: float, low: float, high: float) -> float:
    share = (min(time, high) - low) / (high - low) if high > low else 0.5
    return BOTTOM - (BOTTOM - TOP) * share
