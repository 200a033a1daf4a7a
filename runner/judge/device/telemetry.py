"""Telemetry around each block: the seam between measuring and hardware.

`begin` and `end` are called outside the clocks, from the judge's own core, and never raise. A value that a device does
not report is None in the readings and lowers `level`, which never rises again in a run. throttle.py rules on the
windows. The readers are CpuTelemetry and one of each make of accelerators (make.py).
"""

import functools
import operator
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from runner.evidence.throttle import NONE, Reading, Window, least, level_of
from runner.judge.device.processor import (
    STEAL_COLUMN,
    TICK_NS,
    HostFolders,
    KernelFile,
    KernelFiles,
    Pids,
    open_foreign,
    open_waiting,
    ticks_by_core,
)

CPU_ZONES: Final = ("x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc-thermal", "acpitz")


def nothing() -> None:
    """Let no other code at the device."""


class Telemetry(Protocol):
    @property
    def level(self) -> str:
        """FULL, MASK_ONLY or NONE (throttle.py): the least of all readings so far."""

    def begin(self) -> None:
        """Begin a window, right before a block."""

    def end(self, meanwhile: Callable[[], object] = nothing) -> Window:
        """End the window, right after the block. `meanwhile` lets other code at the device: it is called as soon as all
        is read that could then be charged to the block's side."""

    def temperature_c(self) -> float | None: ...

    def close(self) -> None: ...


class Blind:
    """Telemetry of a device that reports no value: its runs do not rank."""

    level = NONE
    _began = Reading()

    def begin(self) -> None:
        self._began = Reading(at_ns=time.monotonic_ns())

    def end(self, meanwhile: Callable[[], object] = nothing) -> Window:
        after = Reading(at_ns=time.monotonic_ns())
        meanwhile()
        return Window(self._began, after)

    def temperature_c(self) -> float | None:
        return None

    def close(self) -> None:
        pass


class Several:
    """Telemetry of all devices of a problem for several: a window holds the worst of each."""

    def __init__(self, devices: Sequence[Telemetry]) -> None:
        self._devices = devices

    @property
    def level(self) -> str:
        return least(device.level for device in self._devices)

    def begin(self) -> None:
        for device in self._devices:
            device.begin()

    def end(self, meanwhile: Callable[[], object] = nothing) -> Window:
        windows = [device.end() for device in self._devices]
        meanwhile()
        return Window(
            worst([window.before for window in windows]),
            worst([window.after for window in windows]),
            tuple(sorted(poll for window in windows for poll in window.polls)),
            any(window.inherited for window in windows),
        )

    def temperature_c(self) -> float | None:
        return max((found for one in self._devices if (found := one.temperature_c()) is not None), default=None)

    def close(self) -> None:
        for device in self._devices:
            device.close()


def worst(readings: Sequence[Reading]) -> Reading:
    """Return what throttle.py is to know of several devices: all reasons, sums of counters, the slowest clock."""
    first = readings[0]

    def known(name: str) -> list[Any]:
        found = [getattr(reading, name) for reading in readings]
        return [] if None in found else found

    lanes = min(readings, key=lambda reading: (reading.pcie_width or 0) / (reading.pcie_width_most or 1))
    masks = known("mask")
    return replace(
        first,
        mask=functools.reduce(operator.or_, masks) if masks else None,
        counters={
            field: sum(reading.counters[field] for reading in readings)
            for field in first.counters
            if all(field in reading.counters for reading in readings)
        },
        limits={f"{name} {n}": value for n, reading in enumerate(readings) for name, value in reading.limits.items()},
        pcie_width=lanes.pcie_width,
        pcie_width_most=lanes.pcie_width_most,
        xids=tuple(xid for reading in readings for xid in reading.xids),
        lost=any(reading.lost for reading in readings),
        clock_mhz=min(known("clock_mhz"), default=None),
        memory_mhz=min(known("memory_mhz"), default=None),
        temperature_c=max(known("temperature_c"), default=None),
        power_w=max(known("power_w"), default=None),
        ecc_errors=sum(known("ecc_errors")) if known("ecc_errors") else None,
        strangers=sum(known("strangers")) if known("strangers") else None,
    )


class CpuTelemetry:
    """Telemetry of a CPU: foreign load on the cores, and whether heat lowered their clocks.

    `own` names a process of each container; its whole control group counts as ours.

    A virtual machine has steal time instead of a clock frequency and a temperature, which belong to the machine under
    it.
    """

    def __init__(
        self,
        *,
        own: Pids,
        cores: Sequence[int] | None = None,
        folders: HostFolders | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        files = self._files = KernelFiles(folders)
        self._now_ns = now_ns
        self._stat = files.open(files.folders.proc / "stat")
        self.cores = tuple(cores) if cores is not None else tuple(sorted(ticks_by_core(self._stat)))
        self._foreign = open_foreign(own, files, self.cores)
        self._waiting = open_waiting(own, files, len(self.cores))
        self._clocks = self._open_by_core("cpufreq/scaling_cur_freq")
        self._throttles = self._open_by_core("thermal_throttle/core_throttle_total_time_ms")
        self._throttles += self._open_by_core("thermal_throttle/package_throttle_total_time_ms")[:1]
        self._zones = files.open_numbers(_zones(files.folders.sys))
        self._before = self._read()
        self.level = level_of(self._before)

    def begin(self) -> None:
        self._before = self._read()

    def end(self, meanwhile: Callable[[], object] = nothing) -> Window:
        window = Window(self._before, self._read())
        meanwhile()
        self.level = least((self.level, level_of(window.after)))
        return window

    def temperature_c(self) -> float | None:
        return max((zone.whole() / 1000 for zone in self._zones), default=None)

    def close(self) -> None:
        self._files.close()

    def _read(self) -> Reading:
        ticks = ticks_by_core(self._stat)
        stolen = [ticks[core][STEAL_COLUMN] for core in self.cores if core in ticks]
        foreign_ns, grain_ns = self._foreign.ns(ticks)
        return Reading(
            at_ns=self._now_ns(),
            cores=max(1, len(self.cores)),
            foreign_ns=foreign_ns,
            foreign_grain_ns=grain_ns,
            waited_ns=self._waiting(),
            steal_ns=TICK_NS * sum(stolen) if stolen else None,
            steal_grain_ns=TICK_NS if ticks else 0,
            clock_mhz=max((file.whole() / 1000 for file in self._clocks), default=None),
            temperature_c=self.temperature_c(),
            throttled_ns=sum(file.whole() for file in self._throttles) * 1_000_000 if self._throttles else None,
        )

    def _open_by_core(self, name: str) -> list[KernelFile]:
        root = self._files.folders.sys / "devices/system/cpu"
        return self._files.open_numbers(root / f"cpu{core}" / name for core in self.cores)


def _zones(sys: Path) -> list[Path]:
    """Return the temperature files of the processor; a machine has zones of batteries and radios too."""
    found = []
    for kind in sorted(sys.glob("class/thermal/thermal_zone*/type")):
        with suppress(OSError):
            if kind.read_text().strip() in CPU_ZONES:
                found.append(kind.with_name("temp"))
    return found
