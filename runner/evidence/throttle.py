"""Readings of a device around a block, and the ruling on the block that follows from them. Pure.

`rule` returns VALID; VOID (its quad is repeated after `pause_is_over`); WARM_AGAIN (the device was idle: warm up, never
wait for it to cool); or SET_ASIDE (the run is over, and the device is used again when canaries passed). `rule_block`
also looks at the block's samples, and names the side to blame.

A `Window` holds the telemetry around a block. The evidence stores it as JSON and schema.py restores it unchanged, which
allows a replay to rule again. None in a reading means that the device does not report the value. Times in ns of the
judge's monotonic clock, clocks in MHz, temperatures in °C, power in W. A reading with an unknown field is refused, so
sites are upgraded before runners.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Final, NamedTuple

from pydantic import ConfigDict

from runner.evidence import stats
from runner.evidence.sample import BASELINE, Sample

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
APPLICATION_XIDS: Final = frozenset({13, 31, 43, 45, 68, 109})  # of a faulty kernel alone; others set the device aside

BROKEN: Final = frozenset({"device_lost", "ecc"})

COOLER_C: Final = 5.0  # margin under the temperature of a voided block
COOL_S: Final = 10.0  # the longest wait for it
CALM_S: Final = 0.5  # wait after a void that is unrelated to heat
STEAL, FOREIGN_LOAD = "steal", "foreign_load"
LOAD: Final = frozenset({STEAL, FOREIGN_LOAD})  # reasons of a void: the CPU was taken away
BUSY: Final = "device_busy"  # the idle probe met work
HEAT: Final = frozenset({"hw_thermal", "sw_thermal", "cpu_throttled", "slow_clock"})

# Beyond PROBE_FACTOR times the idle device's duration, other work is on the device: a turn of another context takes
# 2.4 ms on an H200, a hiccup of the judge's own process up to 0.3.
PROBE_FACTOR: Final = 5
PROBE_SLACK_NS: Final = 500_000


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
    # The first of the worst counts.
    worst = max(found, key=lambda ruling: SEVERITY.index(ruling.action), default=Ruling(VALID))
    return replace(worst, figures={**_recorded(window), **worst.figures})


def rule_block(
    side: str, samples: Sequence[Sample], window: Window, *, warm: Window | None, probe_limit_ns: float, guest: str
) -> tuple[Ruling, str]:
    """Decide what becomes of a block, and which side is to blame for it.

    `warm` is the window around this side's last warm-up. `guest` is the side of foreign code that ran last before the
    block: work that is still running when the block begins is charged to it.
    """
    ruling = rule(window, warm)
    if ruling.action != SET_ASIDE:
        if not all(sample.is_sane for sample in samples):
            return Ruling(VOID, "clock"), ""
        slow = [number for number, sample in enumerate(samples) if sample.probe_ns > probe_limit_ns > 0]
        if slow:
            slowest = max(sample.probe_ns for sample in samples)
            return Ruling(VOID, BUSY, figures={"probe_ns": slowest}), guest_after(guest, side, slow[0])
    return ruling, side if ruling.charged else ""


def breaks(ruling: Ruling) -> bool:
    """Return whether the device broke. The block is then no evidence about any code."""
    return ruling.action == SET_ASIDE and is_broken(ruling.reason)


def guest_after(guest: str, side: str, calls: int = 1) -> str:
    """Return the side of foreign code that ran last, after `calls` calls of `side`."""
    return side if calls and side != BASELINE else guest


def probe_limit_ns(idle: Sequence[Sample], before: Sequence[Sample] = ()) -> float:
    """Return the duration above which an idle probe met foreign work, in ns; 0 where there is no probe.

    `before` holds calls from before there was a submission: work left on the device slows the probes of idle calls too.
    """
    usual = min(stats.median([sample.probe_ns for sample in samples]) for samples in (idle, before) if samples)
    return PROBE_FACTOR * usual + PROBE_SLACK_NS if usual > 0 else 0.0


def pause_is_over(reason: str, hot_c: float | None, now_c: float | None, waited_s: float) -> bool:
    """Return whether a quad voided for `reason` may be repeated, after a warm-up. `hot_c` is the temperature at the end
    of its block."""
    if reason not in HEAT:
        return waited_s >= CALM_S
    cooled = hot_c is not None and now_c is not None and now_c <= hot_c - COOLER_C
    return cooled or waited_s >= COOL_S


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
        by_kernel = xid in APPLICATION_XIDS
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
    """Rule by clocks. A device under its power cap may be slower. A device is cold if its mask shows idle, unless its
    clock is as high as when warm: between two calls it may stand for a moment."""
    around, warmed = [window.before, window.after], [warm.after] if warm else []
    slowest: float = min((one.clock_mhz for one in around if one.clock_mhz is not None), default=math.nan)
    warm_mhz: float = min((one.clock_mhz for one in warmed if one.clock_mhz is not None), default=math.nan)
    if any(mask & IDLE for mask in window.masks) and not slowest >= SLOW_CLOCK * warm_mhz:
        yield Ruling(WARM_AGAIN, "idle")
        return
    memory = [one.memory_mhz for one in around + warmed if one.memory_mhz is not None]
    if len(set(memory)) > 1:
        yield Ruling(VOID, "memory_clock", charged=True, figures={"least_mhz": min(memory), "most_mhz": max(memory)})
    capped = any(mask & POWER_CAP for mask in window.masks) or _capped_ns(window) > 0
    if slowest < SLOW_CLOCK * warm_mhz and not capped:
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


# -- figures --------------------------------------------------------------------------------------------------------


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


def _grown(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None else after - before
