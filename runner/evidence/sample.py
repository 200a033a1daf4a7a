"""Sample of a call, and the times that follow from samples alone. Pure.

The judge measures all values of a sample but `inner_ns`, which is the tenant's word. On the `wall` clock (cpu hardware)
a call's time is the judge's; on the `event` clock (GPUs) it is the time of the device's events. certificate.py derives
the times that count.
"""

import math
from typing import Annotated, Final, NamedTuple

from pydantic import Field, WithJsonSchema

WALL, EVENT = "wall", "event"
BASELINE, CANDIDATE, INCUMBENT = "baseline", "candidate", "incumbent"
SIDES: Final = (BASELINE, CANDIDATE, INCUMBENT)

MOST: Final = 2**63
# Whole numbers stay whole, and no number is beyond arithmetic.
Number = Annotated[
    Annotated[int, Field(ge=-MOST, le=MOST)] | Annotated[float, Field(ge=-float(MOST), le=float(MOST))],
    WithJsonSchema({"type": "number", "minimum": -MOST, "maximum": MOST}),
]


class Sample(NamedTuple):
    """One call, in ns; stored as an array."""

    wall_ns: Number  # the whole call
    put_ns: Number  # its part in which the judge copied inputs in
    take_ns: Number  # its part in which the judge copied the output out
    inner_ns: Number  # the device's events, or the container's clock
    probe_ns: Number  # the idle probe before it; 0: there is none
    thaw_ns: Number
    freeze_ns: Number

    @property
    def is_sane(self) -> bool:
        """Whether the judge's clock behaved. Parts above the whole, or time that ran backwards, void a block."""
        measured = (self.wall_ns, self.put_ns, self.take_ns, self.probe_ns, self.thaw_ns, self.freeze_ns)
        finite = all(math.isfinite(value) and value >= 0 for value in measured)
        return finite and self.wall_ns > 0 and self.copying_ns <= self.wall_ns and math.isfinite(self.inner_ns)

    @property
    def copying_ns(self) -> float:
        return self.put_ns + self.take_ns

    @property
    def gap_ns(self) -> float:
        """Wall time beyond the device's time."""
        return self.wall_ns - self.inner_ns

    def spent_ns(self, *, certified: bool) -> float:
        """Return the part of the wall time in which the tenant could run; all of it if it could not be frozen."""
        return self.wall_ns - self.put_ns - self.take_ns if certified else self.wall_ns

    def at_once_ns(self, constant_ns: float = 0, *, clock: str, certified: bool) -> float:
        """Return the call's time as far as it is known during measurement: good enough to decide when to stop."""
        return self.inner_ns if clock == EVENT else self.spent_ns(certified=certified) - constant_ns
