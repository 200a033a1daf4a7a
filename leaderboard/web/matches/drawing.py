"""Drawings of a match: a timeline of each side, and predicted against measured speed-ups, as SVG geometry. Pure.

Speed-ups are drawn on a logarithmic axis, so that twice and half as fast lie equally far from the reference.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from leaderboard.matches.read import Expected, Played, Report, Side
from leaderboard.web.boards.curves import Tick
from leaderboard.wording.figures import times

LEFT, RIGHT, TOP, BOTTOM = 44.0, 408.0, 14.0, 196.0
FAILED_Y: Final = BOTTOM + 16  # of a version without a time
SQUARE: Final = 216.0  # bottom of the plot of predictions, which is as high as it is wide
TICKS: Final = (
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    0.7,
    1,
    1.5,
    2,
    3,
    5,
    10,
    20,
    50,
    100,
    200,
    500,
    1_000,
    10_000,
    100_000,
)
MOST_TICKS: Final = 7


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    low: float | None  # ends of the interval, on the page; None: without
    high: float | None
    css: str  # good, bad or waiting
    text: str  # number of the version
    said: str


@dataclass(frozen=True)
class Line:
    """A reference line across a plot."""

    y: float
    css: str
    text: str


@dataclass(frozen=True)
class Timeline:
    dots: tuple[Dot, ...]
    path: str  # the best so far, as a staircase; "": no time
    lines: tuple[Line, ...]
    up: tuple[Tick, ...]
    said: str
    left = LEFT
    right = RIGHT
    bottom = BOTTOM
    failed_y = FAILED_Y


@dataclass(frozen=True)
class Predictions:
    dots: tuple[Dot, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    diagonal: tuple[float, float, float, float]
    said: str
    left = LEFT
    right = RIGHT
    top = TOP
    bottom = SQUARE


class Scale:
    """A logarithmic axis that holds all given values with a margin."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        self.low, self.high = min(values) / 1.15, max(values) * 1.15
        self._start, self._end = start, end

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return round(self._start + (self._end - self._start) * min(max(share, 0.0), 1.0), 1)

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """Return at most MOST_TICKS round values."""
        inside = [value for value in TICKS if self.low <= value <= self.high]
        step = -(-len(inside) // MOST_TICKS) if inside else 1
        return tuple(Tick(self(value), f"{value:g}×") for value in inside[::step])


def timelines(report: Report) -> tuple[Timeline, Timeline]:
    """Return the drawings of both sides, on the same axis."""
    reached = [speed for side in report.sides for one in side.versions for speed in _ends(one)]
    compiled = [report.compiled.speedup] if report.compiled else []
    scale = Scale([0.8, 1.25, *reached, *compiled], BOTTOM, TOP)
    lines = [Line(scale(1.0), "eager", "eager 1×")]
    lines += [Line(scale(speed), "compiled", f"torch.compile {times(speed)}") for speed in compiled]
    human, machine = (_timeline(side, scale, tuple(lines)) for side in report.sides)
    return human, machine


def _ends(one: Played) -> tuple[float, ...]:
    if one.solved is None:
        return ()
    width = 1 + (one.solved.half_width or 0.0)
    return one.solved.speedup / width, one.solved.speedup * width


def _timeline(side: Side, scale: Scale, lines: tuple[Line, ...]) -> Timeline:
    step = (RIGHT - LEFT) / max(1, len(side.versions))
    dots, best, path = [], 0.0, ""
    for place, one in enumerate(side.versions):
        x = round(LEFT + step * (place + 0.5), 1)
        ends = _ends(one)
        y = scale(one.speedup) if one.speedup else FAILED_Y
        css = "waiting" if not one.is_finished else "good" if one.is_correct else "bad"
        said = f"version {one.number}: {times(one.speedup) if one.speedup else one.reached}"
        low, high = (scale(ends[0]), scale(ends[1])) if ends else (None, None)
        dots.append(Dot(x, y, low, high, css, str(one.number), said))
        if one.speedup and one.speedup > best:
            best = one.speedup
            path += f"M{x} {y}" if not path else f"H{x}V{y}"
    said = "; ".join(dot.said for dot in dots) or "no version yet"
    return Timeline(tuple(dots), f"{path}H{RIGHT}" if path else "", lines, scale.ticks, said)


def predictions(expected: Sequence[Expected]) -> Predictions | None:
    """Draw predicted against measured speed-ups; None without a pair of both."""
    known = [(one, one.measured) for one in expected if one.measured is not None]
    if not known:
        return None
    values = [value for one, measured in known for value in (one.expected, measured)] + [0.8, 1.25]
    across, up = Scale(values, LEFT, RIGHT), Scale(values, SQUARE, TOP)
    dots = []
    for one, measured in known:
        name = "the prediction" if one.number is None else f"version {one.number}"
        said = f"{name}: predicted {times(one.expected)}, measured {times(measured)}"
        text = "P" if one.number is None else str(one.number)
        css = "first" if one.number is None else "good"
        dots.append(Dot(across(one.expected), up(measured), None, None, css, text, said))
    diagonal = (LEFT, SQUARE, RIGHT, TOP)
    return Predictions(tuple(dots), across.ticks, up.ticks, diagonal, "; ".join(dot.said for dot in dots))
