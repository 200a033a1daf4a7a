"""Pure: what a kernel's value is, who is tied with whom, and the order of a board.

A run is compared only with the baseline that was timed beside it, so what ranks is that ratio. A measured time ranks
nothing: the machine may have been slower in one run than in another. A board shows the time of a kernel as the
geometric mean of its own runs' times, so that no other entrant's run changes it; a kernel with the shorter time may
stand behind, where its machine was faster.

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
from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final, NamedTuple

TIE: Final = 0.005  # relative difference below which two jobs of one kernel may differ
WIDEST: Final = 0.02  # half-width beyond which an interval ties nobody: a kernel must not win by being unsteady


class Run(NamedTuple):
    """A published run of a submission."""

    ratio: float  # candidate / baseline of the same run
    half_width: float | None  # relative, of the 95 % interval
    forgeable: float | None  # share of the true time that may be missing at most
    submitted_at: datetime
    submission_id: int  # two in one microsecond still have an order
    entrant_id: int
    code: str  # what near-identical sources share


class Value(NamedTuple):
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
    """Those who share the rank of the line at `first`, which leads them. `entrants`: each one's values, best first."""
    leader = lines[first]
    group = list(lines[first : first + reach(leader, lines, first, same)])
    group.sort(key=lambda line: held_since(leader, entrants[line.entrant_id]))
    return [Place(first + 1, len(group) > 1, line) for line in group]


def pairs_of(level: Iterable[tuple[int, int]]) -> frozenset[frozenset[int]]:
    return frozenset(map(frozenset, level))


def are_tied(leader: Value, other: Value) -> bool:
    """Whether the leader, which is not slower, cannot be told apart from the other one."""
    difference = other.ratio / leader.ratio - 1
    noise = math.hypot(*(min(value.half_width or 0.0, WIDEST) for value in (leader, other)))
    return difference < max(TIE, _hidden(leader), _hidden(other)) or difference <= noise


def _hidden(value: Value) -> float:
    """By how much of what was measured the truth may be longer."""
    return value.forgeable / (1 - value.forgeable) if value.forgeable < 1 else math.inf


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


def mean_time_us(times_us: Sequence[float]) -> float:
    """The measured time of a kernel: the geometric mean of its runs' times. A single run's comes back unchanged."""
    return times_us[0] if len(times_us) == 1 else math.exp(_mean(map(math.log, times_us)))


def value_of(runs: Sequence[Run]) -> Value:
    """Of one kernel. Runs are independent, so the interval of their mean is narrower; what can be forged is not."""
    first = runs[0]
    if len(runs) == 1:  # its own figures, to the last bit
        ratio, half_width, forgeable = first.ratio, first.half_width, first.forgeable or 0.0
    else:
        widths = [run.half_width for run in runs if run.half_width is not None]
        ratio = math.exp(_mean(math.log(run.ratio) for run in runs))
        half_width = math.hypot(*widths) / len(runs) if len(widths) == len(runs) else None
        forgeable = _mean(run.forgeable or 0.0 for run in runs)
    submissions = tuple(run.submission_id for run in runs)
    return Value(ratio, half_width, forgeable, first.submitted_at, submissions, first.entrant_id)


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
