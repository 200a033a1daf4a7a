"""Readings of an honest GPU and an honest CPU, in which a test changes a single value."""

from dataclasses import replace
from typing import Any

from runner.evidence.throttle import COUNTERS, Poll, Reading, Window

MS = 1_000_000
GPU = Reading(
    at_ns=0,
    mask=0,
    counters=dict.fromkeys(COUNTERS, 7_000_000_000),
    memory_mhz=3201.0,
    power_w=610.0,
    ecc_errors=0,
    limits={"power_limit_mw": 700_000},
    pcie_width=16,
    pcie_width_most=16,
    strangers=0,
    clock_mhz=1980.0,
    temperature_c=61.0,
)
CPU = Reading(
    at_ns=0,
    cores=2,
    foreign_ns=(5_000 * MS, 8_000 * MS),
    waited_ns=900 * MS,
    steal_ns=10 * MS,
    steal_grain_ns=10 * MS,
)


def later(reading: Reading, *, ms: float = 20, counters: dict[int, int] | None = None, **changes: Any) -> Reading:
    """The same device a block later. `counters`: their growth in ns."""
    grown = {number: ns + (counters or {}).get(number, 0) for number, ns in reading.counters.items()}
    return replace(reading, at_ns=reading.at_ns + round(ms * MS), **{"counters": grown, **changes})


def window(
    before: Reading = GPU,
    *,
    ms: float = 20,
    counters: dict[int, int] | None = None,
    masks: tuple[int, ...] = (),
    strangers: tuple[int, ...] = (),
    **changes: Any,
) -> Window:
    """Window of a block that began with `before`; its polls saw `masks` and `strangers`."""
    polls = [Poll(before.at_ns + 100 * MS * (number + 1), mask, None) for number, mask in enumerate(masks)]
    polls += [Poll(before.at_ns + 100 * MS * (number + 1), 0, seen) for number, seen in enumerate(strangers)]
    return Window(before, later(before, ms=ms, counters=counters, **changes), tuple(polls))


WARM = window()
