"""Decision whether foreign programs on the host kept the processor from a container whose time limit ran out.

A limit is wall time: on an overloaded host a fast program runs into it. The kernel's accounts separate this from a
program that is slow by itself: how long the container ran, how long a thread of it was ready and waited for a core, and
how long programs that are neither the judge's nor its containers' ran meanwhile. Reports from inside a container do not
count.

A program that sleeps does not wait for a core. Threads that keep each other waiting run meanwhile. A container that ran
for less than a quarter of its time, while one thread waited for at least half of it, had its core taken away. A program
that ran for a quarter of its limit and was not done is not excused: on a quiet host it would be slow, too. An endless
loop that ran for less cannot be recognised: it is judged again, and ends as `timeout` on a calmer host.

Pure; runner/judge/device/processor.py reads the accounts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import Field

STARVED: Final = "starved"  # a reason of `unmeasurable`
MOST_RAN: Final = 0.25  # of its time, on all cores together
LEAST_WAITED: Final = 0.5  # of its time, by its most delayed thread
LEAST_FOREIGN: Final = 0.5  # of the time that went by, on one core, by foreign programs

Count = Annotated[int, Field(ge=0, le=2**63 - 1)]


@dataclass(frozen=True)
class Reading:
    """Accounts of the kernel at one moment, in ns. `waits`: by thread, how long it was ready and did not run."""

    at_ns: int
    ran_ns: int
    waits: Mapping[int, int]
    foreign: tuple[int, ...]


@dataclass(frozen=True)
class Share:
    """Use of the processor while a time limit ran out, in ns.

    `wall_ns` went by. Containers ran for `ran_ns`, on all cores together. The container's most delayed thread was ready
    and had no core for `waited_ns`; of a stage, the containers' threads and the judge's, but not the judge's while it
    waited for a side's answer. Programs that are neither the judge's nor its containers' ran for `foreign_ns`, on one
    core.
    """

    wall_ns: Count
    ran_ns: Count
    waited_ns: Count
    foreign_ns: Count

    @classmethod
    def between(cls, before: Reading, after: Reading) -> Share:
        """Return the share of a container that was to work all the time."""
        waited = [waits - before.waits.get(thread, 0) for thread, waits in after.waits.items()]
        foreign = [now - then for then, now in zip(before.foreign, after.foreign, strict=False)]
        return cls(
            wall_ns=max(1, after.at_ns - before.at_ns),
            ran_ns=max(0, after.ran_ns - before.ran_ns),
            waited_ns=max([0, *waited]),
            foreign_ns=max([0, *foreign]),
        )

    @property
    def is_starved(self) -> bool:
        """Whether this excuses a time limit that ran out."""
        return (
            self.ran_ns < MOST_RAN * self.wall_ns
            and self.waited_ns >= LEAST_WAITED * self.wall_ns
            and self.foreign_ns >= LEAST_FOREIGN * self.wall_ns
        )

    @property
    def sentence(self) -> str:
        wall, ran, waited = (ns / 1e9 for ns in (self.wall_ns, self.ran_ns, self.waited_ns))
        return (
            f"A time limit ran out because other programs kept the host's processor busy: of {wall:.0f} s the judge "
            f"and its containers waited {waited:.0f} s for a core, and the containers ran {ran:.0f} s. Nothing is "
            "known about your kernel."
        )
