"""Pure: progress on a board. An entrant's best over time, the gap to the line above, the next rank, the whole field.

Everything is a ratio to the baseline of the same stage and timing epoch. A gap in time is the kernel's own time, scaled
by two such ratios: times of two runs are never compared.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from leaderboard.standings.ranking.ranking import Field, Place, Run, Value, tie_bound

BINS: Final = 20  # of a distribution, about
WIDE: Final = 10.0  # a field whose fastest is this many times its slowest is counted in steps of a fixed factor
FACTOR: Final = math.sqrt(2)
MOST_BINS: Final = 60
NICE: Final = (1.0, 2.0, 2.5, 5.0, 10.0)


class Best(NamedTuple):
    """The best value of an entrant from a moment on."""

    at: datetime
    ratio: float


def bests(runs: Iterable[Run]) -> list[Best]:
    """Return the changes of the fastest value of these runs, oldest first.

    A further run of a kernel can also make it slower.
    """
    field, found = Field(), list[Best]()
    for run in sorted(runs, key=lambda run: run.sent):
        field.put(run)
        ratio = field.best
        if not found or found[-1].ratio != ratio:
            found.append(Best(run.submitted_at, ratio))
    return found


class Gap(NamedTuple):
    """Distance of a line from a faster line, as a share and as a time of the line itself."""

    share: float  # of its time that it would have to save
    time_us: float


def gap(value: Value, time_us: float, other: float) -> Gap:
    """Return the gap between a value, with its measured time, and another ratio."""
    share = 1 - other / value.ratio
    return Gap(share, time_us * share)


@dataclass(frozen=True)
class NextRank:
    """Ratios that the next rank requires of a kernel as steady as the present kernel."""

    rank: int  # of the group ahead
    share_ratio: float | None  # slower than this, it stays behind; None: it shares that rank already
    alone_ratio: float  # faster than this, it stands before the whole group


def next_rank(places: Sequence[Place], at: int) -> NextRank | None:
    """Return the requirements of the next rank for the line at `at`; None: it leads alone, or no ratio would suffice.

    Lines of near-equal speed share a rank, so there are two thresholds: to join the group ahead, and to pass it.
    """
    own = places[at]
    if own.rank == 1 and not own.is_tied:
        return None
    rank = places[own.rank - 2].rank if own.rank > 1 else 1
    ahead = [place.value for place in places[rank - 1 : own.rank - 1 if own.rank > 1 else None] if place.rank == rank]
    leader = min((value for value in ahead if value is not own.value), key=lambda value: value.ratio)
    bound = tie_bound(leader, own.value)
    if math.isinf(bound):
        return None
    return NextRank(
        rank=rank,
        share_ratio=leader.ratio * (1 + bound) if own.rank > 1 else None,
        alone_ratio=leader.ratio / (1 + bound),
    )


@dataclass(frozen=True)
class Bin:
    """Kernels with a speedup from `low` (included) to `high` (excluded, but in the last bin)."""

    low: float
    high: float
    count: int
    is_own: bool


def distribution(ratios: Sequence[float], own: float | None = None) -> list[Bin]:
    """Count the kernels of a field by speedup. `own`: the viewer's ratio."""
    speedups = sorted(1 / ratio for ratio in ratios)
    if not speedups:
        return []
    edges = _edges(speedups[0], speedups[-1])
    counts = [0] * (len(edges) - 1)
    at = 0
    for speedup in speedups:
        while at < len(counts) - 1 and speedup >= edges[at + 1]:
            at += 1
        counts[at] += 1
    mine = None if own is None else 1 / own
    last = len(counts) - 1
    return [
        Bin(low, high, count, mine is not None and (low <= mine or at == 0) and (mine < high or at == last))
        for at, (low, high, count) in enumerate(zip(edges, edges[1:], counts, strict=False))
    ]


def faster_than(ratios: Sequence[float], own: float) -> float:
    """Return the share of the remaining lines that are slower than the viewer's; 1.0 on a board with one line."""
    others = len(ratios) - 1
    return sum(ratio > own for ratio in ratios) / others if others > 0 else 1.0


def _edges(low: float, high: float) -> list[float]:
    if high / low > WIDE:
        first = math.floor(math.log(low, FACTOR))
        last = max(first + 1, math.ceil(math.log(high, FACTOR)))
        stride = math.ceil((last - first) / MOST_BINS)
        return [FACTOR**power for power in range(first, last + stride, stride)]
    step = nice_step((high - low) / BINS or low / BINS)
    first, last = math.floor(low / step), math.floor(high / step) + 1
    return [round(number * step, 12) for number in range(first, last + 1)]


def nice_step(least: float) -> float:
    """Return the next of 1, 2, 2.5, 5, 10 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * digit for digit in NICE if power * digit >= least * (1 - 1e-9))
