"""Telemetry around each block: the seam between measuring and hardware.

`begin` and `end` are called outside the clocks, from the judge's own core, and never raise. A value that a device does
not report is None in the readings and lowers `level`, which never rises again in a run. throttle.py rules on the
windows. The readers are cpu.py (a CPU) and gpu.py (an NVIDIA GPU); another make of device is one more class here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Protocol

from runner.evidence.throttle import NONE, Reading, Window
from runner.judge.device.cpu import CpuTelemetry
from runner.judge.device.foreign_load import Pids

log = logging.getLogger("runner.judge.device.telemetry")


class Telemetry(Protocol):
    @property
    def level(self) -> str:
        """FULL, MASK_ONLY or NONE (throttle.py): the least of all readings so far."""

    def begin(self) -> None:
        """Begin a window, right before a block."""

    def end(self) -> Window:
        """End the window, right after the block."""

    def temperature_c(self) -> float | None: ...

    def close(self) -> None: ...


class Blind:
    """Telemetry of a device that reports no value: its runs do not rank."""

    level = NONE

    def __init__(self) -> None:
        self._began = Reading(at_ns=time.monotonic_ns())

    def begin(self) -> None:
        self._began = Reading(at_ns=time.monotonic_ns())

    def end(self) -> Window:
        return Window(self._began, Reading(at_ns=time.monotonic_ns()))

    def temperature_c(self) -> float | None:
        return None

    def close(self) -> None:
        pass


def open_telemetry(hardware: str, *, own: Pids, cores: Sequence[int] | None = None, gpu: int = 0) -> Telemetry:
    """Open the telemetry of this host's device.

    `cores`: the cores whose load counts on a CPU, the judge's and the tenants'; by default all of the host's. `gpu`:
    NVML's number.
    """
    if hardware == "cpu":
        return CpuTelemetry(own=own, cores=cores)
    from runner.judge.device.gpu import NvmlTelemetry, load_nvml  # needs a driver, which a cpu host has not

    try:
        return NvmlTelemetry(load_nvml(), own=own, index=gpu)
    except Exception as err:  # NVML has its own tree of errors, and a stub of it may raise anything
        log.warning("no telemetry: NVML does not answer (%s: %s)", type(err).__name__, err)
        return Blind()


def company(hardware: str, *, own: Pids, gpu: int = 0) -> frozenset[int]:
    """Return processes on this GPU that are not ours; none on a CPU, and none if they cannot be known."""
    if hardware == "cpu":
        return frozenset()
    from runner.judge.device.gpu import Device, Strangers, load_nvml  # needs a driver

    try:
        return frozenset(Strangers(Device(load_nvml(), gpu), own).pids() or ())
    except Exception as err:  # as above
        log.warning("NVML does not say who is on the device (%s: %s)", type(err).__name__, err)
        return frozenset()
