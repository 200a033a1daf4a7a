"""Pure: the value of a kernel, ties between kernels, and the order of a board.

The ratio to the baseline that was timed beside a run ranks; a measured time does not, because machines differ from run
to run. A value is the geometric mean over all ranked runs of near-identical code of an entrant, never the best of them:
keeping the best would reward sending the same code twenty times. The geometric mean of ratios is that of the speedups.
Each entrant has one line: the best value (docs/standings.md).

Ties go by the leader: the fastest remaining line takes with it the lines directly behind it that are indistinguishable
from it, and lines that a confirmation could not distinguish. They share its rank, in the order in which their entrants
were first that fast.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from statistics import fmean, geometric_mean  # independent of the order of values
from typing import Final, NamedTuple

TIE: Final = 0.005  # two jobs of the same kernel may differ by less than this relative difference
WIDEST: Final = 0.02  # half-width limit for ties: a kernel must not win by being unsteady


class Run(NamedTuple):
    """A published run of a submission."""

    ratio: float  # candidate / baseline of the same run
    half_width: float | None  # relative, of the 95 % interval
    forgeable: float | None  # upper bound on the missing share of the true time
    submitted_at: datetime
    submission_id: int  # orders submissions of the same microsecond
    entrant_id: int
    code: str  # shared by near-identical sources

    @property
    def sent(self) -> tuple[datetime, int]:
        return self.submitted_at, self.submission_id


class Value(NamedTuple):
    """The combined ranked runs of a kernel. `submissions`: theirs, the earliest first."""

    ratio: float
    half_width: float | None
    forgeable: float
    submitted_at: datetime
    submissions: tuple[int, ...]
    entrant_id: int

    @property
    def sent(self) -> tuple[datetime, int]:
        return self.submitted_at, self.submissions[0]


class Place(NamedTuple):
    rank: int  # shared by tied lines: 1, 1, 3
    is_tied: bool
    value: Value


def pool(runs: Iterable[Run]) -> list[Value]:
    """Return a value per kernel and entrant, fastest first; among equals, by time of submission."""
    kernels: dict[Hashable, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: run.sent):
        kernels[run.entrant_id, run.code].append(run)
    return sorted((value_of(same) for same in kernels.values()), key=order)


def rank(runs: Iterable[Run], level: Iterable[tuple[int, int]] = ()) -> list[Place]:
    """Rank runs, best first. `level`: pairs of submissions that a confirmation could not distinguish."""
    entrants: dict[int, list[Value]] = defaultdict(list)
    for value in pool(runs):
        entrants[value.entrant_id].append(value)
    lines = sorted((values[0] for values in entrants.values()), key=order)
    same = pairs_of(level)
    places: list[Place] = []
    while len(places) < len(lines):
        places += group_at(lines, len(places), entrants, same)
    return places


def group_at(
    lines: Sequence[Value], first: int, entrants: Mapping[int, Sequence[Value]], same: frozenset[frozenset[int]]
) -> list[Place]:
    """Return the places that share the rank of the line at `first`, their leader.

    `entrants`: values of each, best first.
    """
    leader = lines[first]
    group = list(lines[first : first + reach(leader, lines, first, same)])
    group.sort(key=lambda line: held_since(leader, entrants[line.entrant_id]))
    return [Place(first + 1, len(group) > 1, line) for line in group]


def pairs_of(level: Iterable[tuple[int, int]]) -> frozenset[frozenset[int]]:
    return frozenset(map(frozenset, level))


def are_tied(leader: Value, other: Value) -> bool:
    """Return whether the leader, which is not slower, is indistinguishable from the other value."""
    difference = other.ratio / leader.ratio - 1
    noise = math.hypot(*(min(value.half_width or 0.0, WIDEST) for value in (leader, other)))
    return difference < max(TIE, _hidden(leader), _hidden(other)) or difference <= noise


def _hidden(value: Value) -> float:
    """Return the share by which the true time may exceed the measured time."""
    return value.forgeable / (1 - value.forgeable) if value.forgeable < 1 else math.inf


def reach(leader: Value, lines: Sequence[Value], first: int, same: frozenset[frozenset[int]]) -> int:
    """Return how many lines share the rank of the leader, the line at `first`, including it."""
    end = first + 1
    while end < len(lines) and are_tied(leader, lines[end]):
        end += 1
    level_with = {pk for pair in same if pair & set(leader.submissions) for pk in pair}
    if level_with:
        behind = (at + 1 for at in range(first + 1, len(lines)) if level_with & set(lines[at].submissions))
        end = max(end, *behind, 0)
    return end - first


def mean_time_us(times_us: Sequence[float]) -> float:
    """Return the measured time of a kernel: the geometric mean of its runs' times.

    A single time comes back unchanged.
    """
    return times_us[0] if len(times_us) == 1 else geometric_mean(times_us)


def value_of(runs: Sequence[Run]) -> Value:
    """Return the value of a kernel's runs.

    Runs are independent, so the interval of their mean is narrower; the share that can be forged is not.
    """
    first = runs[0]
    if len(runs) == 1:  # its exact figures
        ratio, half_width, forgeable = first.ratio, first.half_width, first.forgeable or 0.0
    else:
        widths = [run.half_width for run in runs if run.half_width is not None]
        ratio = geometric_mean(run.ratio for run in runs)
        half_width = math.hypot(*widths) / len(runs) if len(widths) == len(runs) else None
        forgeable = fmean(run.forgeable or 0.0 for run in runs)
    submissions = tuple(run.submission_id for run in runs)
    return Value(ratio, half_width, forgeable, first.submitted_at, submissions, first.entrant_id)


def order(value: Value) -> tuple[float, datetime, int]:
    return value.ratio, *value.sent


def held_since(leader: Value, own: Sequence[Value]) -> tuple[datetime, int]:
    """Return when the entrant was first as fast as the leader: an improvement does not cost its place in time."""
    return min(value.sent for value in own if value is own[0] or are_tied(leader, value))
