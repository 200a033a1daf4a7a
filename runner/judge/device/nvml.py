"""Telemetry of an NVIDIA GPU, through NVML.

Quick values (mask, clocks, heat) are read at both ends of a block. Slow values (ECC, processes, XIDs) are read at its
end, and the end of a block serves as the beginning of the next. The same holds for the counters, which take 0.9 ms,
until one of them moves. Values that hardly ever change (limits, PCIe) are read five times a second at most. A thread on
the judge's own core reads mask and processes every POLL_S between them. A query that NVML does not support is not
repeated; after any exception of NVML, the reading has None there. Field ids, units (ns, MHz, mW, °C) and codes are
NVML's own.
"""

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from runner.evidence.throttle import COUNTERS, Poll, Reading, Window, least, level_of
from runner.judge.data.call import HANDS_OFF
from runner.judge.device.processor import Pids
from runner.judge.device.telemetry import nothing

POLL_S: Final = 0.1
# Slow values younger than this are not read again at the beginning of a block. Values that hardly ever change are not
# read at the end either: it takes 1.5 ms.
FRESH_NS: Final = 200_000_000
MOST_XIDS: Final = 16  # per reading; a broken device can send them without end

NOT_SUPPORTED, FUNCTION_NOT_FOUND = 3, 13
LOST: Final = (15, 16)  # GPU is lost; reset required
SM, MEMORY = 1, 2  # clocks
GPU_SENSOR: Final = 0
UNCORRECTED, VOLATILE = 1, 0  # ECC errors since the driver was loaded
XID_EVENTS: Final = 8
VALUE_NAMES: Final = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
LIMITS: Final[dict[str, tuple[Any, ...]]] = {
    "power_limit_mw": ("nvmlDeviceGetPowerManagementLimit",),
    "enforced_power_mw": ("nvmlDeviceGetEnforcedPowerLimit",),
    "application_sm_mhz": ("nvmlDeviceGetApplicationsClock", SM),
    "application_memory_mhz": ("nvmlDeviceGetApplicationsClock", MEMORY),
}
PROCESS_LISTS: Final = ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetMPSComputeRunningProcesses")


def load_nvml() -> Any:
    """Return the library, ready. Raises any exception if there is no driver."""
    import pynvml

    pynvml.nvmlInit()
    return pynvml


class Device:
    """GPU behind NVML's functions; queries never raise."""

    def __init__(self, nvml: Any, index: int = 0) -> None:
        self._nvml = nvml
        self._unsupported: set[str] = set()
        self.lost = False
        self.handle = nvml.nvmlDeviceGetHandleByIndex(index)

    def ask(self, name: str, *arguments: object) -> Any:
        """Query NVML. Returns None if the device does not report the value."""
        if name in self._unsupported:
            return None
        try:
            return getattr(self._nvml, name)(self.handle, *arguments)
        except AttributeError:  # this version of the library has no such function
            self._unsupported.add(name)
        except Exception as err:  # NVML's tree, and any error of its binding on a driver's odd answer
            code = getattr(err, "value", None)
            self.lost = self.lost or code in LOST
            if code in (NOT_SUPPORTED, FUNCTION_NOT_FOUND):
                self._unsupported.add(name)
        return None

    def counters(self) -> dict[int, int]:
        """Return the counters that this device keeps, by field id."""
        found = self.ask("nvmlDeviceGetFieldValues", list(COUNTERS)) or ()
        return {
            int(one.fieldId): int(getattr(one.value, VALUE_NAMES[one.valueType]))
            for one in found
            if one.nvmlReturn == 0 and one.valueType in VALUE_NAMES
        }

    def mask(self) -> int | None:
        """Return the mask, under its present name or the name in older drivers."""
        mask = self.ask("nvmlDeviceGetCurrentClocksEventReasons")
        if mask is None:
            mask = self.ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        return None if mask is None else int(mask)

    def limits(self) -> dict[str, int]:
        asked = {name: self.ask(*question) for name, question in LIMITS.items()}
        return {name: value for name, value in asked.items() if value is not None}

    def pids(self, lists: tuple[str, ...] = PROCESS_LISTS) -> set[int] | None:
        """Return the pids of processes with a context on the device; None if no list is available."""
        found = [processes for name in lists if (processes := self.ask(name)) is not None]
        return {int(process.pid) for processes in found for process in processes} if found else None


class Strangers:
    """Processes on the device that are neither in `own` nor in the control group of an own process."""

    def __init__(self, device: Device, own: Pids, proc: Path = Path("/proc")) -> None:
        self._device = device
        self._own = own
        self._proc = proc

    def pids(self) -> set[int] | None:
        """Return the pids; None if they cannot be known: no list, or it holds pids of another namespace than ours."""
        for _ in range(2):  # a process that ended just now is gone from the second list
            unknown = self._unknown()
            if not unknown or all((self._proc / str(pid)).exists() for pid in unknown):
                return unknown
        return None

    def count(self) -> int | None:
        pids = self.pids()
        return None if pids is None else len(pids)

    def _unknown(self) -> set[int] | None:
        on_device, own = self._device.pids(), self._own() | {os.getpid()}
        if not on_device or on_device <= own:
            return None if on_device is None else set()
        groups = {self._group(pid) for pid in own} - {self._group(os.getpid()), ""}
        return {pid for pid in on_device - own if self._group(pid) not in groups}

    def _group(self, pid: int) -> str:
        try:
            return (self._proc / str(pid) / "cgroup").read_text()
        except OSError:
            return ""


class _Xids:
    """Errors that the driver reports about the device, as they come."""

    def __init__(self, nvml: Any, device: Device) -> None:
        self._nvml = nvml
        self._set: Any = None
        with suppress(Exception):  # not supported in many virtual machines
            events = nvml.nvmlEventSetCreate()
            nvml.nvmlDeviceRegisterEvents(device.handle, XID_EVENTS, events)
            self._set = events

    def new(self) -> tuple[int, ...]:
        found: list[int] = []
        if self._set is not None:
            with suppress(Exception):  # NVML raises "timeout" if there is none
                while len(found) < MOST_XIDS:
                    found.append(int(self._nvml.nvmlEventSetWait_v2(self._set, 0).eventData))
        return tuple(found)

    def close(self) -> None:
        if self._set is not None:
            with suppress(Exception):
                self._nvml.nvmlEventSetFree(self._set)
            self._set = None


class NvmlTelemetry:
    """NVML reader of telemetry.Telemetry. `nvml` is the library or any object with its functions."""

    def __init__(
        self,
        nvml: Any,
        *,
        own: Pids,
        index: int = 0,
        now_ns: Callable[[], int] = time.monotonic_ns,
        proc: Path = Path("/proc"),
        poll_s: float = POLL_S,
    ) -> None:
        self._nvml = nvml
        self._now_ns = now_ns
        self._device = Device(nvml, index)
        self._strangers = Strangers(self._device, own, proc)
        self._xids = _Xids(nvml, self._device)
        self._rare: dict[str, Any] = {}
        self._rare_ns = 0
        self._slow = self._read_slow()
        self._before = self._after = replace(self._slow, **self._quick(), counters=self._device.counters())
        self._moves = False  # whether a counter ever moved
        self._inherits = False  # whether the last window's first counters come from the window before
        self._poller = _Poller(lambda: Poll(now_ns(), self._device.mask(), self._strangers.count()), poll_s)
        self.level = level_of(self._before)

    def begin(self) -> None:
        last, counters = self._slow, self._after.counters
        is_old = self._now_ns() - last.at_ns > FRESH_NS
        if is_old:
            self._slow = self._read_slow()
            slow = replace(self._slow, ecc_errors=last.ecc_errors, limits=last.limits)  # report changes since then
        else:
            slow = replace(last, xids=())  # the last window has reported them
        self._inherits = not (is_old or self._moves)
        if not self._inherits:
            counters = self._device.counters()
        self._before = replace(slow, **self._quick(), counters=counters)
        self._poller.begin()

    def end(self, meanwhile: Callable[[], object] = nothing) -> Window:
        polls = self._poller.end()
        quick = self._quick()  # at once
        self._slow = self._read_slow()
        counters = None if self._inherits else self._device.counters()
        meanwhile()
        if counters is None:  # what moves them in an inherited window is nobody's: throttle.py
            counters = self._device.counters()
        self._after = replace(self._slow, **quick, counters=counters, lost=self._device.lost)
        self._moves = self._moves or counters != self._before.counters
        self.level = least((self.level, level_of(self._after)))
        return Window(self._before, self._after, tuple(polls), self._inherits)

    def temperature_c(self) -> float | None:
        return _real(self._device.ask("nvmlDeviceGetTemperature", GPU_SENSOR))

    def close(self) -> None:
        self._poller.close()
        self._xids.close()
        with suppress(Exception):
            self._nvml.nvmlShutdown()

    def _quick(self) -> dict[str, Any]:
        """Read the quick fields of a Reading."""
        ask = self._device.ask
        power_mw = ask("nvmlDeviceGetPowerUsage")
        return {
            "at_ns": self._now_ns(),
            "mask": self._device.mask(),
            "clock_mhz": _real(ask("nvmlDeviceGetClockInfo", SM)),
            "memory_mhz": _real(ask("nvmlDeviceGetClockInfo", MEMORY)),
            "temperature_c": self.temperature_c(),
            "power_w": None if power_mw is None else power_mw / 1000,
        }

    def _read_slow(self) -> Reading:
        at_ns = self._now_ns()
        if not self._rare or at_ns - self._rare_ns > FRESH_NS:
            ask, self._rare_ns = self._device.ask, at_ns
            self._rare = {
                "limits": self._device.limits(),
                "pcie_width": ask("nvmlDeviceGetCurrPcieLinkWidth"),
                "pcie_width_most": ask("nvmlDeviceGetMaxPcieLinkWidth"),
            }
        return Reading(
            at_ns=at_ns,
            **self._rare,
            ecc_errors=self._device.ask("nvmlDeviceGetTotalEccErrors", UNCORRECTED, VOLATILE),
            strangers=self._strangers.count(),
            xids=self._xids.new(),
            lost=self._device.lost,
        )


class _Poller:
    """Thread that polls every `every_s`, but only between `begin` and `end`, and never while a clock runs."""

    def __init__(self, look: Callable[[], Poll], every_s: float) -> None:
        self._look = look
        self._every_s = every_s
        self._found: list[Poll] = []
        self._begun, self._ended = threading.Event(), threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def begin(self) -> None:
        self._found = []
        self._ended.clear()
        self._begun.set()

    def end(self) -> list[Poll]:
        self._begun.clear()
        self._ended.set()
        found, self._found = self._found, []
        return list(found)

    def close(self) -> None:
        self._closed = True
        self._ended.set()
        self._begun.set()
        self._thread.join(timeout=2)
        del self._look  # it holds its owner, and thereby a job's containers and gigabytes of its data

    def _run(self) -> None:
        while True:
            self._begun.wait()
            if self._closed:
                return
            found = self._found  # a late look is discarded
            if not self._ended.wait(self._every_s):
                with HANDS_OFF:
                    found.append(self._look())


def _real(value: Any) -> float | None:
    return None if value is None else float(value)
