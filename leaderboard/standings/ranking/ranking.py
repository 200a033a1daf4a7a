"""Pure: the value of a kernel, ties between kernels, and the order of a board.

The ratio to the baseline that was timed beside a run ranks; a measured time does not, because machines differ from run
to run. A value is the geometric mean over all ranked runs of near-identical code of an entrant, never the best of them:
keeping the best would reward sending the same code twenty times. The geometric mean of ratios is that of the speedups.
Each entrant has one line: the best value (docs/standings.md).

Ties go by the leader: the fastest remaining line takes with it the lines directly behind it that are indistinguishable
from it, and lines that a confirmation could not distinguish. They share its rank, fastest first. The entrant who was
first that fast holds the place: records and awards go by `holder`, so that a lucky run takes neither.
"""

import math
from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise, takewhile
from statistics import fmean, geometric_mean  # independent of the order of values
from typing import Final, NamedTuple, Self

TIE: Final = 0.005  # relative difference; less is no difference between kernels, whatever their intervals
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
    since: tuple[datetime, int]  # first submission of its entrant that was as fast as the group


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
    group = lines[first : first + reach(leader, lines, first, same)]
    return [Place(first + 1, len(group) > 1, line, held_since(leader, entrants[line.entrant_id])) for line in group]


def tied_first(places: Sequence[Place]) -> int:
    """Return how many lines share the first rank; 0: a single line leads, or there is none."""
    shared = sum(1 for _ in takewhile(lambda place: place.rank == 1, places))
    return shared if shared > 1 else 0


def holder(places: Sequence[Place]) -> Place:
    """Return the place of the first rank whose entrant was first that fast. There must be a place."""
    return min(takewhile(lambda place: place.rank == places[0].rank, places), key=lambda place: place.since)


def pairs_of(level: Iterable[tuple[int, int]]) -> frozenset[frozenset[int]]:
    return frozenset(map(frozenset, level))


def are_tied(leader: Value, other: Value) -> bool:
    """Return whether the leader, which is not slower, is indistinguishable from the other value."""
    difference = other.ratio / leader.ratio - 1
    return difference < _least_difference(leader, other) or difference <= _noise(leader, other)


def tie_bound(leader: Value, other: Value) -> float:
    """Return the relative difference up to which two values with these intervals are tied."""
    return max(_least_difference(leader, other), _noise(leader, other))


def _least_difference(leader: Value, other: Value) -> float:
    return max(TIE, _hidden(leader), _hidden(other))


def _noise(leader: Value, other: Value) -> float:
    return math.hypot(*(min(value.half_width or 0.0, WIDEST) for value in (leader, other)))


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


Kernel = tuple[int, str]  # entrant, code


class _Group(NamedTuple):
    """Lines that share a rank, from the last ranking."""

    members: list[Value]  # the leader first
    entrants: frozenset[int]
    places: list[Place]


class Field:
    """The runs of a board, stage and epoch, ranked incrementally as runs come and go: always equal to `rank`.

    A run that comes or goes changes one kernel's value, one entrant's line and the ties around it; the rest stays.
    """

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        """Fill the field from all runs: faster than run by run."""
        in_order = sorted(runs, key=lambda run: run.sent)
        kernels: dict[Kernel, list[Run]] = defaultdict(list)
        for run in in_order:
            kernels[run.entrant_id, run.code].append(run)
        own: dict[int, list[Value]] = defaultdict(list)
        self._runs = {run.submission_id: run for run in in_order}
        self._kernels = {kernel: tuple(same) for kernel, same in kernels.items()}  # in the order of sending
        self._values = {kernel: value_of(same) for kernel, same in kernels.items()}
        for value in self._values.values():
            own[value.entrant_id].append(value)
        self._own = {entrant: tuple(sorted(values, key=order)) for entrant, values in own.items()}  # the best first
        self._lines = sorted((values[0] for values in self._own.values()), key=order)  # the best of each, fastest first
        self._groups: dict[int, _Group] = {}  # by the leader's first submission
        self._level: frozenset[frozenset[int]] = frozenset()  # pairs that the groups were made with
        self._touched: set[int] = set()  # entrants whose values changed since then

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, submission_id: int) -> bool:
        return submission_id in self._runs

    def copy(self) -> Self:
        """Return an independent copy."""
        same = type(self)()
        same._runs, same._kernels, same._values = self._runs.copy(), self._kernels.copy(), self._values.copy()
        same._own, same._lines = self._own.copy(), self._lines.copy()
        same._groups, same._level = self._groups, self._level  # replaced as a whole
        same._touched = self._touched.copy()
        return same

    def put(self, run: Run) -> None:
        """Add a run, in place of its submission's earlier run."""
        self.drop(run.submission_id)
        self._runs[run.submission_id] = run
        kernel = (run.entrant_id, run.code)
        self._set(kernel, (*self._kernels.get(kernel, ()), run))

    def drop(self, submission_id: int) -> None:
        """Remove a submission's run, if it is present."""
        run = self._runs.pop(submission_id, None)
        if run is not None:
            kernel = (run.entrant_id, run.code)
            self._set(kernel, tuple(other for other in self._kernels[kernel] if other is not run))

    def best_without(self, submission_id: int) -> float | None:
        """Return the ratio of the fastest value without this run; None: there is no value without it."""
        run = self._runs.get(submission_id)
        if run is not None:
            self.drop(submission_id)
        best = self._lines[0].ratio if self._lines else None
        if run is not None:
            self.put(run)
        return best

    @property
    def best(self) -> float:
        """The ratio of the fastest value; the field must not be empty."""
        return self._lines[0].ratio

    def first(self, level: frozenset[frozenset[int]]) -> Value:
        """Return the value that holds the first place; the field must not be empty.

        `level`: pairs_of; pass the same pairs each time to avoid ranking anew.
        """
        if level != self._level:
            self._groups, self._level = {}, level
        group = self._group_at(0)
        self._groups, self._touched = {group.members[0].submissions[0]: group}, set()
        return holder(group.places).value

    def places(self, level: Iterable[tuple[int, int]] = ()) -> list[Place]:
        """Rank all lines. `level`: as for `rank`."""
        same = pairs_of(level)
        if same != self._level:
            self._groups, self._level = {}, same
        groups: dict[int, _Group] = {}
        places: list[Place] = []
        while len(places) < len(self._lines):
            group = self._group_at(len(places))
            groups[group.members[0].submissions[0]] = group
            places += group.places
        self._groups, self._touched = groups, set()
        return places

    def _group_at(self, first: int) -> _Group:
        leader = self._lines[first]
        known = self._groups.get(leader.submissions[0])
        if known is not None and self._stands(known, first):
            if known.places[0].rank == first + 1:
                return known
            return known._replace(places=[place._replace(rank=first + 1) for place in known.places])
        places = group_at(self._lines, first, self._own, self._level)
        members = self._lines[first : first + len(places)]
        return _Group(members, frozenset(member.entrant_id for member in members), places)

    def _stands(self, known: _Group, first: int) -> bool:
        """Return whether a known group is unchanged, and the next line behind does not belong to it."""
        end = first + len(known.members)
        behind = self._lines[end : end + 1]
        return (
            self._lines[first:end] == known.members
            and self._touched.isdisjoint(known.entrants)
            and not (behind and are_tied(known.members[0], behind[0]))
            and all(pair.isdisjoint(known.members[0].submissions) for pair in self._level)  # pairs can reach far behind
        )

    def _set(self, kernel: Kernel, runs: Sequence[Run]) -> None:
        entrant = kernel[0]
        own, old = self._own.get(entrant, ()), self._values.pop(kernel, None)
        self._kernels.pop(kernel, None)
        if own:
            del self._lines[bisect_left(self._lines, order(own[0]), key=order)]
        left = [value for value in own if value is not old]
        if runs:
            self._kernels[kernel] = tuple(sorted(runs, key=lambda run: run.sent))
            self._values[kernel] = value_of(self._kernels[kernel])
            insort(left, self._values[kernel], key=order)
        if left:
            insort(self._lines, left[0], key=order)
            self._own[entrant] = tuple(left)
        else:
            self._own.pop(entrant, None)
        self._touched.add(entrant)


@dataclass(frozen=True)
class Record:
    """A kernel that took first place."""

    value: Value  # at that moment
    since: datetime
    until: datetime | None  # None: it still holds the first place
    gain: float | None  # speedup over the holder before; below 1 if an earlier run holds a tie


def records(runs: Iterable[Run], level: Iterable[tuple[int, int]] = ()) -> list[Record]:
    """Return the successive holders of first place by time of submission, from the lines that are published now.

    A retracted or rejected run never counts, and a run that was cleared late counts from its time of submission.
    `level`: as for `rank`.
    """
    field, same = Field(), pairs_of(level)
    found: list[tuple[Value, datetime]] = []
    for run in sorted(runs, key=lambda run: run.sent):
        field.put(run)
        first = field.first(same)
        if not found or found[-1][0].submissions[0] != first.submissions[0]:
            found.append((first, run.submitted_at))
    ends = [*(since for _, since in found[1:]), None]
    gains = [None, *(before.ratio / value.ratio for (before, _), (value, _) in pairwise(found))]
    return [Record(value, since, until, gain) for (value, since), until, gain in zip(found, ends, gains, strict=False)]
