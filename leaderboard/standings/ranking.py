"""Pure: what a kernel's value is, who is tied with whom, the order of a board and the times it shows.

A run is compared only with the baseline that was timed beside it, so what ranks is that ratio. The microseconds that a
report tells are on the scale of its own run, and two runs' scales differ; a board therefore shows every ratio on one
scale, and order and times always agree.

A value is the geometric mean over all ranked runs of near-identical code of one entrant, never the best of them:
keeping the best would pay for sending the same thing twenty times. The mean is geometric because the runs are ratios:
the mean of ratios and the mean of speedups disagree, that of logarithms does not care which is divided by which, and
it is what the judge does with the cases of one run. One line an entrant: the best value.

Ties go by the leader: the fastest line that is left takes with it those right behind it that it cannot be told apart
from. They share its rank, and among them whoever was that fast first stands first. Two whom a confirmation could not
tell apart are tied as well, and so is who stands between them: runs with both in the blocks say more about the two than
runs of their own do.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Final, NamedTuple

TIE: Final = 0.005  # relative difference below which two jobs of one kernel may differ
WIDEST: Final = 0.02  # half-width beyond which an interval ties nobody: a kernel must not win by being unsteady


class Run(NamedTuple):
    """A published run of a submission."""

    ratio: float  # candidate / baseline of the same run
    half_width: float | None  # relative, of the 95 % interval
    forgeable: float | None  # share of the time by which it could be forged at most
    submitted_at: datetime
    submission_id: int  # two in one microsecond still have an order
    entrant_id: int
    code: str  # what near-identical sources share


@dataclass(frozen=True)
class Value:
    """What the ranked runs of one kernel come to. `submissions`: theirs, the first one first."""

    ratio: float
    half_width: float | None
    forgeable: float
    submitted_at: datetime
    submissions: tuple[int, ...]
    entrant_id: int


class Place(NamedTuple):
    rank: int  # shared by those who are tied: 1, 1, 3
    is_tied: bool
    value: Value


def pool(runs: Iterable[Run]) -> list[Value]:
    """A value a kernel and entrant, the fastest first; of equals, the one that was submitted first."""
    kernels: dict[Hashable, list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.submitted_at, run.submission_id)):
        kernels[run.entrant_id, run.code].append(run)
    return sorted((value_of(same) for same in kernels.values()), key=order)


def rank(runs: Iterable[Run], level: Iterable[tuple[int, int]] = ()) -> list[Place]:
    """Best first. `level`: pairs of submissions that a confirmation could not tell apart."""
    same = frozenset(map(frozenset, level))
    entrants: dict[int, list[Value]] = defaultdict(list)
    for value in pool(runs):
        entrants[value.entrant_id].append(value)
    lines = sorted((values[0] for values in entrants.values()), key=order)
    places: list[Place] = []
    while len(places) < len(lines):
        left = len(places)
        leader = lines[left]
        group = lines[left : left + reach(leader, lines, left, same)]
        first, is_tied = len(places) + 1, len(group) > 1
        group.sort(key=lambda line: held_since(leader, entrants[line.entrant_id]))
        places += [Place(first, is_tied, line) for line in group]
    return places


def are_tied(leader: Value, other: Value) -> bool:
    """Whether the leader, which is not slower, cannot be told apart from the other one."""
    difference = other.ratio / leader.ratio - 1
    noise = math.hypot(*(min(value.half_width or 0.0, WIDEST) for value in (leader, other)))
    return difference < max(TIE, leader.forgeable, other.forgeable) or difference <= noise


def reach(leader: Value, lines: Sequence[Value], first: int, same: frozenset[frozenset[int]]) -> int:
    """How many of the lines from `first` on, which is the leader's own, share its rank."""
    end = first + 1
    while end < len(lines) and are_tied(leader, lines[end]):
        end += 1
    told = {pk for pair in same if pair & set(leader.submissions) for pk in pair}
    if told:
        behind = (at + 1 for at in range(first + 1, len(lines)) if told & set(lines[at].submissions))
        end = max(end, *behind, 0)
    return end - first


def scale_us(scored: Iterable[tuple[float, float]]) -> float:
    """The microseconds of ratio 1 on a board: the median baseline over its (score_us, ratio); there is at least one."""
    return median(score_us / ratio for score_us, ratio in scored)


def value_of(runs: Sequence[Run]) -> Value:
    """Of one kernel. Runs are independent, so the interval of their mean is narrower; what can be forged is not."""
    widths = [run.half_width for run in runs if run.half_width is not None]
    is_one = len(runs) == 1  # then its own figures, to the last bit
    return Value(
        ratio=runs[0].ratio if is_one else math.exp(_mean(math.log(run.ratio) for run in runs)),
        half_width=math.hypot(*widths) / len(runs) if len(widths) == len(runs) else None,
        forgeable=_mean(run.forgeable or 0.0 for run in runs),
        submitted_at=runs[0].submitted_at,
        submissions=tuple(run.submission_id for run in runs),
        entrant_id=runs[0].entrant_id,
    )


def _mean(values: Iterable[float]) -> float:
    """The same in whatever order they come."""
    listed = list(values)
    return math.fsum(listed) / len(listed)


def order(value: Value) -> tuple[float, datetime, int]:
    return value.ratio, value.submitted_at, value.submissions[0]


def held_since(leader: Value, own: Sequence[Value]) -> tuple[datetime, int]:
    """When its entrant first sent something as fast as the leader: an improvement loses nobody their place in time."""
    return min(
        (value.submitted_at, value.submissions[0]) for value in own if value is own[0] or are_tied(leader, value)
    )
