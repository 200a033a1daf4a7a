"""What the judge's own copying of a case's inputs and outputs costs at each side.

It lies in every call's wall time, and two containers' allocations differ: on an H200 by half a per cent of it, which is
8 µs where a call brings 2.7 GB (docs/measurements.md). How long it took within a call says nothing: what a tenant's
device did meanwhile is in it, too. So the same copies are timed once more when no code of others runs any more, and
that is taken off both sides' gaps (gap.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from runner.judge.layout import Layout
from runner.judge.memory import Buffer
from runner.judge.tenant import Tenant

LEAST_BYTES: Final = 256 << 20  # of a call's inputs and outputs: with fewer the difference is lost in the gaps' own
ROUNDS: Final = 8  # at the least; every place has its turn

Times = dict[str, list[list[int]]]  # [putting, taking] in ns, by side


@dataclass(frozen=True)
class Copies:
    """Of one case: what is copied, and between which places. Use: when no code of others runs any more, `time`."""

    layout: Layout
    places: dict[str, list[tuple[int, int]]]

    @classmethod
    def of(cls, layout: Layout, sides: Mapping[str, Tenant]) -> Copies | None:
        """As it is now; None where they need not be timed, or cannot."""
        if layout.input_bytes + layout.output_bytes < LEAST_BYTES or not all(side.queues for side in sides.values()):
            return None
        return cls(layout, {name: side.whereabouts for name, side in sides.items()})

    def time(self, sides: Mapping[str, Tenant], into: Buffer) -> Times:
        """Sides in turn, what comes first changing with each round. Raises SandboxError, NoMemory."""
        found: Times = {name: [] for name in sides}
        for number in range(max(ROUNDS, *map(len, self.places.values()))):
            for name in sorted(sides, reverse=number % 2 > 0):
                places = self.places[name]
                found[name].append(sides[name].time_copies(self.layout, places[number % len(places)], into))
        return found
