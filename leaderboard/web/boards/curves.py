"""Drawings of `fast_p` and of records: curves in the units of an SVG's viewBox. Pure.

p runs from left to right, 0 to MOST_P; the share of problems upwards, 0 to 1. A curve is a staircase: it keeps its
share until the p at which the next win ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from leaderboard.standings.ranking.overall import MOST_P, Standing, Step
from leaderboard.standings.ranking.progress import Best
from runner.evidence.feedback import STAGES

MOST_CURVES: Final = 6  # as many as a reader can distinguish: tokens.css has a colour and a dash for each
LEFT, RIGHT, TOP, BOTTOM = 44.0, 408.0, 12.0, 216.0
STAGE_LEFT: Final = 64.0  # room for the name of a stage
SHARES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Curve:
    place: int  # selects colour and dash
    name: str  # of the entrant, or of another line
    path: str
    said: str  # text alternative


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Plot:
    curves: tuple[Curve, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    left = LEFT
    right = RIGHT
    top = TOP
    bottom = BOTTOM


def plot(standings: Sequence[Standing]) -> Plot:
    """Draw the curves of the first MOST_CURVES entrants."""
    curves = []
    for place, line in enumerate(standings[:MOST_CURVES]):
        at_0, at_1, at_2 = line.score.fast
        said = f"{line.entrant}: {at_0:.0%} correct, {at_1:.0%} faster than 1×, {at_2:.0%} faster than 2×"
        curves.append(Curve(place, line.entrant, staircase(line.curve), said))
    return Plot(tuple(curves), *_axes())


def share_plot(curves: Mapping[str, Sequence[Step]]) -> Plot:
    """Draw a curve of shares over p for each name, at most MOST_CURVES."""
    drawn = []
    for place, (name, steps) in enumerate(curves.items()):
        shares = ", ".join(f"{share_at(steps, p):.0%} at {p:g}×" for p in (0.0, 1.0, 2.0))
        drawn.append(Curve(place, name, staircase(steps), f"{name}: {shares}"))
    return Plot(tuple(drawn), *_axes())


def share_at(steps: Sequence[Step], p: float) -> float:
    """Return the share of a curve at p."""
    return [step.share for step in steps if step.p <= p][-1]


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    is_good: bool


@dataclass(frozen=True)
class StagePlot:
    dots: tuple[Dot, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    left = STAGE_LEFT
    right = RIGHT
    bottom = BOTTOM


def stage_plot(reached: Sequence[tuple[int, str, bool]]) -> StagePlot | None:
    """Draw the stage that each candidate reached, by its number, with a mark for correct ones. None without a stage."""
    known = [(number, STAGES.index(stage), is_good) for number, stage, is_good in reached if stage in STAGES]
    if not known:
        return None
    last = max(number for number, _, _ in known)
    heights = [BOTTOM - (BOTTOM - TOP) * (place + 0.5) / len(STAGES) for place in range(len(STAGES))]

    def at(number: int) -> float:
        return round(STAGE_LEFT + (RIGHT - STAGE_LEFT) * (number - 0.5) / last, 1)

    return StagePlot(
        dots=tuple(Dot(at(number), round(heights[place], 1), is_good) for number, place, is_good in known),
        across=tuple(Tick(at(number), str(number)) for number in sorted({1, (last + 1) // 2, last})),
        up=tuple(Tick(round(height, 1), stage) for height, stage in zip(heights, STAGES, strict=True)),
    )


def fastest_plot(points: Sequence[Best], now: datetime) -> Plot | None:
    """Draw the fastest speedup over time, from the first kernel until now. None without kernels."""
    if not points:
        return None
    best = max(1.0, *(1 / point.ratio for point in points))
    start = points[0].at
    whole_s = max(1.0, (now - start).total_seconds())

    def at(point: Best) -> tuple[float, float]:
        share = min(1.0, (point.at - start).total_seconds() / whole_s)
        return LEFT + (RIGHT - LEFT) * share, _y(1 / point.ratio / best)

    (x, y), *others = map(at, points)
    steps = "".join(f"H{to:.1f}V{up:.1f}" for to, up in others)
    said = f"The fastest kernel is {1 / points[-1].ratio:.4g}× as fast as the baseline."
    return Plot(
        curves=(Curve(0, "Fastest", f"M{x:.1f} {y:.1f}{steps}H{RIGHT:.1f}", said),),
        across=(Tick(LEFT, f"{start:%-d %b %Y}"), Tick(RIGHT, "now")),
        up=tuple(Tick(_y(share), f"{share * best:.3g}×") for share in SHARES),
    )


def _axes() -> tuple[tuple[Tick, ...], tuple[Tick, ...]]:
    """Return the ticks of p across and of shares upwards."""
    across = tuple(Tick(_x(p), f"{p}×") for p in range(int(MOST_P) + 1))
    return across, tuple(Tick(_y(share), f"{share:.0%}") for share in SHARES)


def staircase(steps: Sequence[Step]) -> str:
    """Return the data of an SVG path."""
    first, *others = steps
    drawn = [f"M{_x(first.p):.1f} {_y(first.share):.1f}"]
    drawn += [f"H{_x(step.p):.1f}V{_y(step.share):.1f}" for step in others]
    return "".join([*drawn, f"H{RIGHT:.1f}"])


def _x(p: float) -> float:
    return LEFT + (RIGHT - LEFT) * min(p, MOST_P) / MOST_P


def _y(share: float) -> float:
    return BOTTOM - (BOTTOM - TOP) * share
