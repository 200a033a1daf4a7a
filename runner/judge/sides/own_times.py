"""Differences between containers: the harness's own calls, and the judge's own copying at each side.

runner/evidence/certificate.py derives the timing offsets between containers from queued calls of the harness's own
kernel, made before there is a job.

The copying lies in every call's wall time, and two containers' allocations differ: on an H200 by half a per cent of it,
which is 8 µs if a call brings 2.7 GB (docs/lab-notebook). Work of a candidate's device during the copying lies in
the same time. The same copies are therefore timed again when no foreign code runs any more, and that time is taken off
both sides' gaps, as far as certificate.py believes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from problems.spec import Case
from runner.evidence import certificate
from runner.evidence.sample import Sample
from runner.judge.data.call import Input
from runner.judge.data.layout import Buffer, Layout
from runner.judge.sides.tenant import Tenant

WARM_CALLS: Final = 8  # of each side, not counted
CALL_ROUNDS: Final = 16
CALLS: Final = 8  # of each side in a round

Samples = dict[str, list[Sample]]
LEAST_BYTES: Final = certificate.LARGE_BYTES
ROUNDS: Final = 8  # at the least; every place has its turn
WARM_ROUNDS: Final = 1  # before them, not counted

Times = dict[str, list[tuple[int, int]]]  # putting and taking, in ns, by side


@dataclass(frozen=True)
class Copies:
    """Places of a case's data by side, for a later timing of the copies. Call `time` when foreign code has ended."""

    case: Case
    places: dict[str, list[tuple[int, int]]]

    @classmethod
    def of(cls, case: Case, layout: Layout, sides: Mapping[str, Tenant]) -> Copies | None:
        """Return the current places; None if the copies need not be timed, or cannot."""
        if layout.input_bytes + layout.output_bytes < LEAST_BYTES or not all(side.queues for side in sides.values()):
            return None
        return cls(case, {name: side.whereabouts for name, side in sides.items()})

    def time(self, sides: Mapping[str, Tenant], given: Input, into: Buffer) -> Times:
        """Time the copies of a fresh input of the case, the same for all sides.

        Sides in turn; the first side changes with each round. Returns {} if the input is too large for the old places.
        """
        places = {
            name: [place for place in self.places[name] if side.holds(place, given.layout)]
            for name, side in sides.items()
        }
        if not all(places.values()):
            return {}
        found: Times = {name: [] for name in sides}
        for number in range(WARM_ROUNDS + max(ROUNDS, *map(len, places.values()))):
            for name in sorted(sides, reverse=number % 2 > 0):
                times = sides[name].time_copies(given, places[name][number % len(places[name])], into)
                found[name] += [times] if number >= WARM_ROUNDS else []
        return found


def own_calls(sides: Mapping[str, Tenant]) -> Samples:
    """Return queued calls of the harness's own kernel, by side; empty if no device does calls by itself."""
    if not all(side.queues for side in sides.values()):
        return {}
    for side in sides.values():
        side.own_calls(WARM_CALLS)
    found: Samples = {name: [] for name in sides}
    for number in range(CALL_ROUNDS):
        for name in sorted(sides, reverse=number % 2 > 0):
            found[name] += [call.sample for call in sides[name].own_calls(CALLS) if call.queued]
    return found
