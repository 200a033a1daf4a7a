"""Telemetry of a CPU: foreign load on the cores (foreign_load.py), and whether heat lowered their clocks.

A virtual machine has steal time instead of a clock frequency and a temperature, which belong to the machine under it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from runner.evidence.throttle import Reading, Window, least, level_of
from runner.judge.device.foreign_load import TICK_NS, HostFolders, KernelFile, KernelFiles, open_foreign, open_waiting

STEAL_COLUMN: Final = 7  # of /proc/stat
CPU_ZONES: Final = ("x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc-thermal", "acpitz")


class CpuTelemetry:
    """CPU reader of telemetry.Telemetry. `own` names a process of each container; its whole control group counts as
    ours."""

    def __init__(
        self,
        *,
        own: Callable[[], frozenset[int]],
        cores: Sequence[int] | None = None,
        folders: HostFolders | None = None,
        now_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        files = self._files = KernelFiles(folders)
        self._now_ns = now_ns
        self._stat = files.open(files.folders.proc / "stat")
        self.cores = tuple(cores) if cores is not None else tuple(sorted(self._ticks()))
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

    def end(self) -> Window:
        window = Window(self._before, self._read())
        self.level = least((self.level, level_of(window.after)))
        return window

    def temperature_c(self) -> float | None:
        return max((zone.whole() / 1000 for zone in self._zones), default=None)

    def close(self) -> None:
        self._files.close()

    def _read(self) -> Reading:
        ticks = self._ticks()
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

    def _ticks(self) -> dict[int, list[int]]:
        return {} if self._stat is None else ticks_by_core(self._stat.read())

    def _open_by_core(self, name: str) -> list[KernelFile]:
        root = self._files.folders.sys / "devices/system/cpu"
        return self._files.open_numbers(root / f"cpu{core}" / name for core in self.cores)


def ticks_by_core(stat: bytes) -> dict[int, list[int]]:
    """Return the columns of /proc/stat by core. Empty without a column of steal time."""
    lines = (line.split() for line in stat.splitlines() if line.startswith(b"cpu"))
    return {
        int(name[3:]): [int(one) for one in columns]
        for name, *columns in lines
        if name != b"cpu" and len(columns) > STEAL_COLUMN
    }


def _zones(sys: Path) -> list[Path]:
    """Return the temperature files of the processor; a machine has zones of batteries and radios too."""
    found = []
    for kind in sorted(sys.glob("class/thermal/thermal_zone*/type")):
        with suppress(OSError):
            if kind.read_text().strip() in CPU_ZONES:
                found.append(kind.with_name("temp"))
    return found
