"""Readings of a device around a block: plain values that the evidence stores as JSON and restores unchanged.

None in a reading means that the device does not report the value. Times in ns of the judge's monotonic clock, clocks in
MHz, temperatures in °C, power in W. A reading with an unknown field is refused, so sites are upgraded before runners.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Self


@dataclass(frozen=True)
class Reading:
    """Reading of a device at one moment. Counters only ever grow; their differences over a block count."""

    at_ns: int = 0
    # An accelerator:
    mask: int | None = None
    counters: Mapping[int, int] = field(default_factory=dict)  # ns by NVML's field id; supported counters only
    memory_mhz: float | None = None
    power_w: float | None = None
    ecc_errors: int | None = None  # uncorrected, since the driver was loaded
    limits: Mapping[str, int] = field(default_factory=dict)  # power limit and similar settings of the device
    pcie_width: int | None = None  # lanes now, and the most that device and slot have
    pcie_width_most: int | None = None
    strangers: int | None = None  # processes on the device that are neither the judge's nor its containers'
    xids: tuple[int, ...] = ()  # errors the driver reported since the last reading
    lost: bool = False  # the driver reports that the device is gone or must be reset
    # Both: the SM clock, or the fastest of the counted cores; the judge's core is always awake.
    clock_mhz: float | None = None
    temperature_c: float | None = None
    # A CPU, over the cores that count:
    cores: int = 1
    foreign_ns: tuple[int, ...] = ()  # CPU time of all but judge and containers, by core or in one sum
    foreign_grain_ns: int = 0  # resolution of foreign_ns
    waited_ns: int | None = None  # time in which the judge or a container waited for a core; at least that
    steal_ns: int | None = None  # taken by the hypervisor for other guests
    steal_grain_ns: int = 0
    throttled_ns: int | None = None  # time in which thermal protection lowered a core's clock

    def to_json(self) -> dict[str, Any]:
        """Return the fields that the device reports."""
        told = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: _plain(value) for name, value in told.items() if value != getattr(BLANK, name)}

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Parse a reading. Raises ValueError naming the field."""
        found = _mapping("reading", data)
        known = {item.name for item in fields(cls)}
        if unknown := sorted(set(found) - known):
            raise ValueError(f"reading.{unknown[0]}: no such field")
        return cls(**{name: _parse(name, value) for name, value in found.items()})


BLANK: Final = Reading()
_REALS: Final = frozenset(item.name for item in fields(Reading) if "float" in str(item.type))


@dataclass(frozen=True)
class Poll:
    """Short reading while the block runs."""

    at_ns: int
    mask: int | None = None
    strangers: int | None = None

    def to_json(self) -> list[int | None]:
        return [self.at_ns, self.mask, self.strangers]

    @classmethod
    def from_json(cls, data: object) -> Self:
        if not isinstance(data, list) or len(data) != 3:
            raise ValueError("polls: expected [at_ns, mask, strangers] each")
        at_ns, mask, strangers = data
        return cls(
            _whole("polls", at_ns), *(None if one is None else _whole("polls", one) for one in (mask, strangers))
        )


@dataclass(frozen=True)
class Window:
    """Readings around a block."""

    before: Reading
    after: Reading
    polls: tuple[Poll, ...] = ()
    inherited: bool = False  # whether the first counters are the last of the window before

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
        told: dict[str, Any] = {"before": self.before.to_json(), "after": self.after.to_json()}
        if self.polls:
            told["polls"] = [poll.to_json() for poll in self.polls]
        return told | ({"inherited": True} if self.inherited else {})

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Parse a window. Raises ValueError naming the field."""
        found = _mapping("window", data)
        if not {"before", "after"} <= set(found) <= {"before", "after", "polls", "inherited"}:
            named = ", ".join(sorted(map(str, found)))
            raise ValueError(f"window: expected before, after, polls and inherited, got {named}")
        if not isinstance(found.get("inherited", False), bool):
            raise ValueError("inherited: expected true or false")
        polls = found.get("polls", [])
        if not isinstance(polls, list):
            raise ValueError("polls: expected a list")
        before, after = Reading.from_json(found["before"]), Reading.from_json(found["after"])
        return cls(before, after, tuple(Poll.from_json(poll) for poll in polls), found.get("inherited", False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): one for key, one in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _parse(name: str, value: object) -> Any:
    if name == "counters":
        return {_number_of(name, key): _whole(name, one) for key, one in _mapping(name, value).items()}
    if name == "limits":
        return {str(key): _whole(name, one) for key, one in _mapping(name, value).items()}
    if name in ("xids", "foreign_ns"):
        if not isinstance(value, list):
            raise ValueError(f"{name}: expected a list")
        return tuple(_whole(name, one) for one in value)
    if name == "lost":
        if not isinstance(value, bool):
            raise ValueError("lost: expected true or false")
        return value
    if name in _REALS:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{name}: expected a number, got {value!r:.40}")
        return value
    return _whole(name, value)


def _mapping(name: str, value: object) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{name}: expected an object, got {type(value).__name__}")
    return value


def _whole(name: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name}: expected a whole number, got {value!r:.40}")
    return value


def _number_of(name: str, key: object) -> int:
    try:
        return int(str(key))
    except ValueError:
        raise ValueError(f"{name}: {key!r:.40} is no field id") from None
