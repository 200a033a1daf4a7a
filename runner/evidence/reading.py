"""Readings of a device around a block: plain values that the evidence stores as JSON and schema.py restores unchanged.

None in a reading means that the device does not report the value. Times in ns of the judge's monotonic clock, clocks in
MHz, temperatures in °C, power in W. A reading with an unknown field is refused, so sites are upgraded before runners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

from pydantic import ConfigDict

STRICT: Final = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Reading:
    """Reading of a device at one moment. Counters only ever grow; their differences over a block count."""

    at_ns: int = 0
    # An accelerator:
    mask: int | None = None
    counters: Mapping[int, int] = field(default_factory=dict)  # ns by NVML's field id; supported counters only
    memory_mhz: int | float | None = None
    power_w: int | float | None = None
    ecc_errors: int | None = None  # uncorrected, since the driver was loaded
    limits: Mapping[str, int] = field(default_factory=dict)  # power limit and similar settings of the device
    pcie_width: int | None = None  # lanes now, and the most that device and slot have
    pcie_width_most: int | None = None
    strangers: int | None = None  # processes on the device that are neither the judge's nor its containers'
    xids: tuple[int, ...] = ()  # errors the driver reported since the last reading
    lost: bool = False  # the driver reports that the device is gone or must be reset
    # Both: the SM clock, or the fastest of the counted cores; the judge's core is always awake.
    clock_mhz: int | float | None = None
    temperature_c: int | float | None = None
    # A CPU, over the cores that count:
    cores: int = 1
    foreign_ns: tuple[int, ...] = ()  # CPU time of all but judge and containers, by core or in one sum
    foreign_grain_ns: int = 0  # resolution of foreign_ns
    waited_ns: int | None = None  # time in which the judge or a container waited for a core; at least that
    steal_ns: int | None = None  # taken by the hypervisor for other guests
    steal_grain_ns: int = 0
    throttled_ns: int | None = None  # time in which thermal protection lowered a core's clock

    __pydantic_config__: ClassVar = STRICT

    def to_json(self) -> dict[str, Any]:
        """Return the fields that the device reports."""
        return {name: value for name, value in vars(self).items() if value != getattr(BLANK, name)}


BLANK: Final = Reading()


class Poll(NamedTuple):
    """Short reading while the block runs; stored as an array."""

    at_ns: int
    mask: int | None
    strangers: int | None


@dataclass(frozen=True)
class Window:
    """Readings around a block."""

    before: Reading
    after: Reading
    polls: tuple[Poll, ...] = ()
    inherited: bool = False  # whether the first counters are the last of the window before
    __pydantic_config__: ClassVar = STRICT

    @property
    def length_ns(self) -> int:
        return max(1, self.after.at_ns - self.before.at_ns)

    @property
    def looks(self) -> tuple[Reading | Poll, ...]:
        return (self.before, *self.polls, self.after)

    @property
    def masks(self) -> list[int]:
        """Masks in the order of time."""
        return [look.mask for look in self.looks if look.mask is not None]

    def to_json(self) -> dict[str, Any]:
        around = {"before": self.before.to_json(), "after": self.after.to_json()}
        return around | ({"polls": self.polls} if self.polls else {}) | ({"inherited": True} if self.inherited else {})
