"""Ruling on a device's fitness during a block: a pure decision over readings taken before, in and after the block.

A `Window` holds the telemetry around a block. `rule` returns VALID; VOID (its quad is repeated after `pause_is_over`);
WARM_AGAIN (the device was idle: warm up, never wait for it to cool); or SET_ASIDE (the run is over, and the device is
used again when canaries passed). Windows lie in the evidence as JSON (reading.py), which allows a replay to rule again.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from runner.evidence.reading import Poll as Poll
from runner.evidence.reading import Reading as Reading
from runner.evidence.reading import Window as Window

FULL, MASK_ONLY, NONE = "full", "mask_only", "none"  # levels: how much a device lets the judge see
LEVELS: Final = (NONE, MASK_ONLY, FULL)
VALID, WARM_AGAIN, VOID, SET_ASIDE = "valid", "warm_again", "void", "set_aside"
SEVERITY: Final = (VALID, WARM_AGAIN, VOID, SET_ASIDE)  # of several events, the most severe counts

# Bits of NVML's mask of reasons why clocks are below their maximum.
IDLE, POWER_CAP, HW_SLOWDOWN, SYNC_BOOST = 0x1, 0x4, 0x8, 0x10
SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x20, 0x40, 0x80
KNOWN_BITS: Final = 0x1FF  # with application (0x2) and display clocks (0x100), which are settings; others are unknown

# NVML's counters of the time spent for a reason, by field id.
POWER_CAP_NS, SYNC_BOOST_NS, BOARD_LIMIT_NS, RELIABILITY_NS = 74, 76, 77, 79
SW_THERMAL_NS, HW_THERMAL_NS, POWER_BRAKE_NS = 269, 270, 271
COUNTERS: Final = (
    *(POWER_CAP_NS, SYNC_BOOST_NS, BOARD_LIMIT_NS, RELIABILITY_NS),
    *(SW_THERMAL_NS, HW_THERMAL_NS, POWER_BRAKE_NS),
)
NEEDED_COUNTERS: Final = frozenset({POWER_CAP_NS, SW_THERMAL_NS, HW_THERMAL_NS, POWER_BRAKE_NS})
VOIDING_COUNTERS: Final = {  # by id: the reason, and the share of a block from which on it voids
    HW_THERMAL_NS: ("hw_thermal", 0.0),
    POWER_BRAKE_NS: ("power_brake", 0.0),
    SW_THERMAL_NS: ("sw_thermal", 0.01),
    SYNC_BOOST_NS: ("sync_boost", 0.01),
    BOARD_LIMIT_NS: ("board_limit", 0.01),
    RELIABILITY_NS: ("reliability", 0.01),
}

SLOW_CLOCK: Final = 0.90  # of the warm clock; below it an unnamed cause holds the device back
TAKEN_SHARE: Final = 0.25  # of one core over a block, by foreign programs or by the hypervisor: see _by_load
THROTTLED_SHARE: Final = 0.01  # of a block in which a CPU's thermal protection acted
XID: Final = "xid_"  # begins the reason for an error that the driver reported
APPLICATION_XIDS: Final = frozenset({13, 31, 43, 45, 68, 109})  # errors that a faulty kernel causes by itself

BROKEN: Final = frozenset({"device_lost", "ecc"})

COOLER_C: Final = 5.0  # margin under the temperature of a voided block
COOL_S: Final = 10.0  # the longest wait for it
CALM_S: Final = 0.5  # wait after a void that is unrelated to heat
STEAL, FOREIGN_LOAD = "steal", "foreign_load"
LOAD: Final = frozenset({STEAL, FOREIGN_LOAD})  # reasons of a void: the CPU was taken away
HEAT: Final = frozenset({"hw_thermal", "sw_thermal", "cpu_throttled", "slow_clock"})


@dataclass(frozen=True)
class Ruling:
    """Ruling on a block. `charged`: the side whose block it was can have caused this by itself."""

    action: str
    reason: str = ""
    charged: bool = False
    figures: Mapping[str, float] = field(default_factory=dict)


def rule(window: Window, warm: Window | None) -> Ruling:
    """Decide one block. `warm` is the window of the last warm-up before it, which defines the warm clocks."""
    found = [*_broken(window, warm), *_by_reasons(window)]
    if strangers := max((look.strangers or 0 for look in window.looks), default=0):
        found.append(Ruling(VOID, "foreign_process", figures={"strangers": strangers}))
    found += [*_by_clocks(window, warm), *_by_load(window, warm)]
    if _is_cold(window, warm):
        found.append(Ruling(WARM_AGAIN, "idle"))
    recorded = _recorded(window)
    if not found:
        return Ruling(VALID, figures=recorded)
    worst = max(found, key=lambda ruling: SEVERITY.index(ruling.action))  # the first of the worst
    return Ruling(worst.action, worst.reason, worst.charged, {**recorded, **worst.figures})


def pause_is_over(reason: str, hot_c: float | None, now_c: float | None, waited_s: float) -> bool:
    """Return whether a quad voided for `reason` may be repeated, after a warm-up. `hot_c` is the temperature at the end
    of its block."""
    if reason not in HEAT:
        return waited_s >= CALM_S
    cooled = hot_c is not None and now_c is not None and now_c <= hot_c - COOLER_C
    return cooled or waited_s >= COOL_S


def is_application_xid(xid: int) -> bool:
    """Return whether a submission's kernel alone can cause this error. Any other error sets the device aside."""
    return xid in APPLICATION_XIDS


def is_broken(reason: str) -> bool:
    """Return whether the reason for setting the device aside makes its results worthless, and not only its times."""
    return reason in BROKEN or reason.startswith(XID)


def level_of(reading: Reading) -> str:
    """Return FULL if every row of the table can be decided, MASK_ONLY if some can, NONE if no row can.

    A virtual machine sees neither clocks nor heat of the machine under it: on a CPU it has MASK_ONLY at best.
    """
    if reading.foreign_ns or reading.steal_ns is not None:
        load = reading.foreign_ns and reading.steal_ns is not None
        heat = reading.clock_mhz is not None or reading.throttled_ns is not None
        return FULL if load and heat else MASK_ONLY
    if reading.mask is None:
        return NONE
    told = (reading.clock_mhz, reading.memory_mhz, reading.strangers)
    return FULL if set(reading.counters) >= NEEDED_COUNTERS and None not in told else MASK_ONLY


def least(levels: Iterable[str]) -> str:
    """Return the level of a whole run: the lowest of `levels`."""
    return min(levels, key=LEVELS.index, default=NONE)


# -- the device is not fit -----------------------------------------------------------------------------------------


def _broken(window: Window, warm: Window | None) -> Iterator[Ruling]:
    """Yield rulings on a device that is unfit, in the order that matters to a reader."""
    before, after = window.before, window.after
    if before.lost or after.lost:
        yield Ruling(SET_ASIDE, "device_lost")
    for xid in (*before.xids, *after.xids):
        by_kernel = is_application_xid(xid)
        yield Ruling(VOID if by_kernel else SET_ASIDE, f"{XID}{xid}", charged=by_kernel)
    masks = window.masks
    for bit, reason in ((HW_THERMAL, "hw_thermal"), (POWER_BRAKE, "power_brake")):
        if any(mask & bit for mask in masks):
            yield Ruling(SET_ASIDE, reason)
    if any(one & two & HW_SLOWDOWN for one, two in pairwise(masks)):
        yield Ruling(SET_ASIDE, "hw_slowdown")
    grown = _grown(before.ecc_errors, after.ecc_errors)
    if grown:
        yield Ruling(SET_ASIDE, "ecc", figures={"ecc_errors": grown})
    if _differ(before.limits, after.limits) or (warm is not None and _differ(warm.after.limits, after.limits)):
        yield Ruling(SET_ASIDE, "limits_changed")
    for reading in (before, after):
        width, most = reading.pcie_width, reading.pcie_width_most
        if width is not None and most is not None and width < most:
            yield Ruling(SET_ASIDE, "pcie_width", figures={"pcie_width": width, "pcie_width_most": most})


def _differ(one: Mapping[str, int], two: Mapping[str, int]) -> bool:
    """Return whether settings that both contain differ."""
    return any(one[name] != two[name] for name in set(one) & set(two))


# -- the block is not ----------------------------------------------------------------------------------------------


def _by_reasons(window: Window) -> Iterator[Ruling]:
    """Rule by NVML's reasons. Counters miss no event, however short; an event that may have happened between two blocks
    is charged to no side. By the mask, SW thermal slowdown counts only without a counter of its duration."""
    for number, (reason, share) in VOIDING_COUNTERS.items():
        grown = _grown(window.before.counters.get(number), window.after.counters.get(number))
        if grown is not None and grown < 0:
            yield Ruling(VOID, "counters_reset")
        elif grown is not None and grown > share * window.length_ns:
            figures = {f"{reason}_share": grown / window.length_ns}
            yield Ruling(VOID, reason, charged=not window.inherited, figures=figures)
    seen = 0
    for mask in window.masks:
        seen |= mask
    if seen & SYNC_BOOST:
        yield Ruling(VOID, "sync_boost")
    if seen & SW_THERMAL and SW_THERMAL_NS not in window.after.counters:
        yield Ruling(VOID, "sw_thermal", charged=True)
    if unknown := seen & ~KNOWN_BITS:
        yield Ruling(VOID, "unknown_reason", figures={"bits": unknown})


def _by_clocks(window: Window, warm: Window | None) -> Iterator[Ruling]:
    """Rule by clocks. A cold device warms up again, and a device under its power cap may be slower: both are detected
    elsewhere."""
    before, after = window.before, window.after
    if _is_cold(window, warm):
        return
    memory = [one.memory_mhz for one in (before, after, *([warm.after] if warm else [])) if one.memory_mhz is not None]
    if len(set(memory)) > 1:
        yield Ruling(VOID, "memory_clock", charged=True, figures={"least_mhz": min(memory), "most_mhz": max(memory)})
    capped = any(mask & POWER_CAP for mask in window.masks) or _capped_ns(window) > 0
    slowest, warm_mhz = _slowest_mhz(window), warm.after.clock_mhz if warm else None
    if slowest is not None and warm_mhz is not None and slowest < SLOW_CLOCK * warm_mhz and not capped:
        yield Ruling(VOID, "slow_clock", charged=True, figures={"clock_mhz": slowest, "warm_mhz": warm_mhz})


def _by_load(window: Window, warm: Window | None) -> Iterator[Ruling]:
    """Rule by load on a CPU: time that foreign programs took while the judge or a container waited for a core.

    Own work, however much, is no disturbance.

    Measured on a shared two-core machine, blocks of six calls of 2.7 ms, by the foreign share of their core: under 2 %
    the median was 0.6 % slower, at 10 to 15 % 8 %, at 20 to 25 % 29 %, at 30 to 40 % 39 %. Load that begins after the
    warm-up and takes more than TAKEN_SHARE voids. Load from before the warm-up cannot be waited out: it falls on both
    sides of a pair and widens the interval, as does any smaller load.

    No side is charged: neighbours are beyond its control, and a container cannot cause foreign work by printing, which
    stays in memory of its own (sandbox/container.py).
    """
    before, after, length = window.before, window.after, window.length_ns
    throttled = _grown(before.throttled_ns, after.throttled_ns) or 0
    if throttled > THROTTLED_SHARE * length:
        yield Ruling(VOID, "cpu_throttled", charged=True, figures={"throttled_share": throttled / length})
    for reason, share, grain_ns in (
        (STEAL, _steal_share, after.steal_grain_ns),
        (FOREIGN_LOAD, _foreign_share, after.foreign_grain_ns),
    ):
        usual = share(warm) if warm else 0.0
        if share(window) - grain_ns / length > TAKEN_SHARE + usual:
            yield Ruling(VOID, reason, figures={"usual_share": usual})


def _steal_share(window: Window) -> float:
    return max(0, _grown(window.before.steal_ns, window.after.steal_ns) or 0) / window.length_ns


def _foreign_share(window: Window) -> float:
    """Return the foreign share of the core with the most foreign work, as far as the judge or a container waited
    meanwhile: load that harms no side does not count."""
    before, after = window.before, window.after
    pairs = zip(before.foreign_ns, after.foreign_ns, strict=False)
    ran = max((one - other for other, one in pairs), default=0)
    waited = _grown(before.waited_ns, after.waited_ns)
    return max(0, ran if waited is None else min(ran, waited)) / window.length_ns


# -- the block was too early ---------------------------------------------------------------------------------------


def _is_cold(window: Window, warm: Window | None) -> bool:
    """Return whether the mask shows idle, unless the clock is as high as when warm: between two calls a device may
    stand for a moment."""
    if not any(mask & IDLE for mask in window.masks):
        return False
    slowest, warm_mhz = _slowest_mhz(window), warm.after.clock_mhz if warm else None
    return slowest is None or warm_mhz is None or slowest < SLOW_CLOCK * warm_mhz


def _recorded(window: Window) -> dict[str, float]:
    """Return figures recorded under any ruling: dense work runs into the power cap, a shared host has foreign load."""
    told: dict[str, float] = {}
    if capped := _capped_ns(window):
        told["power_cap_share"] = min(1.0, capped / window.length_ns)
    elif any(mask & POWER_CAP for mask in window.masks):
        told["power_cap_share"] = sum(bool(mask & POWER_CAP) for mask in window.masks) / len(window.masks)
    for name, share in (("foreign_share", _foreign_share(window)), ("steal_share", _steal_share(window))):
        if share > 0:
            told[name] = share
    if window.after.temperature_c is not None:
        told["temperature_c"] = window.after.temperature_c
    return told


def _capped_ns(window: Window) -> float:
    return max(0, _grown(window.before.counters.get(POWER_CAP_NS), window.after.counters.get(POWER_CAP_NS)) or 0)


def _slowest_mhz(window: Window) -> float | None:
    known = [one.clock_mhz for one in (window.before, window.after) if one.clock_mhz is not None]
    return min(known, default=None)


def _grown(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
