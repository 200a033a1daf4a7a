"""Steps of a call that can be left out, for experiments that show the cost of each step and the cheat that it prevents.

A run that leaves a step out is not certified and ranks nowhere; its evidence names the step.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Self


@dataclass(frozen=True)
class Steps:
    """Steps of a call; True means taken. docs/how-it-measures.md explains their purpose."""

    freeze: bool = True  # stop every thread of a container outside its calls
    probe: bool = True  # ask before a call whether the device is idle
    early: bool = True  # start the clock before the inputs are copied in, not after
    withhold: bool = True  # some words of the inputs come last, with the order
    sweep: bool = True  # drive all data out of L2 before a call
    reset: bool = True  # undo persistence in L2, which no sweep would drive out
    telemetry: bool = True  # look at the device before, in and after each block
    arm: bool = True  # the judge's device waits for the tenant's, and reads the output with no host in between
    queue: bool = True  # the tenant's device has a call's work before the inputs come, and waits for the judge's
    read: bool = True  # stop the clock when the judge has the whole output, not when the tenant reports the end

    @classmethod
    def without(cls, names: str) -> Self:
        """Return all steps but `names`, separated by commas. Raises ValueError for an unknown name."""
        left_out = [name.strip() for name in names.split(",") if name.strip()]
        known = [field.name for field in fields(cls)]
        if unknown := sorted(set(left_out) - set(known)):
            raise ValueError(f"{', '.join(unknown)} is no step of a call; they are {', '.join(known)}")
        return cls(**dict.fromkeys(left_out, False))

    @property
    def left_out(self) -> list[str]:
        return [field.name for field in fields(self) if not getattr(self, field.name)]


ALL = Steps()
