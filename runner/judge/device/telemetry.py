"""What the judge asks a device about its health, around each block: the seam between measuring and hardware.

`begin` and `end` are called outside the clocks, from the judge's own core, and raise nothing: what a device does not
tell is None in the readings and lowers `level`, which never rises again in one run. throttle.py rules on the windows.
The readers are load.py (a CPU) and nvml.py (an NVIDIA GPU); another make of device is one more class here.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from runner.evidence.reading import Reading, Window
from runner.evidence.throttle import NONE
from runner.judge.device.cpu import CpuTelemetry

log = logging.getLogger("runner.judge.device.telemetry")

Own = Callable[[], frozenset[int]]  # pids that may be on the device: the judge's and those of its containers


class Telemetry(Protocol):
    @property
    def level(self) -> str:
        """FULL, MASK_ONLY or NONE (throttle.py): the least of all readings so far."""

    def begin(self) -> None:
        """Right before a block."""

    def end(self) -> Window:
        """Right after it."""

    def temperature_c(self) -> float | None: ...

    def close(self) -> None: ...


class Blind:
    """Of a device that tells nothing: such a run does not rank."""

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


def open_telemetry(hardware: str, *, own: Own, cores: Sequence[int] | None = None, gpu: int = 0) -> Telemetry:
    """`cores`: those whose load counts on a CPU, the judge's and the tenants'; all of the host's where not said.
    `gpu`: as NVML numbers them."""
    if hardware == "cpu":
        return CpuTelemetry(own=own, cores=cores)
    from runner.judge.device.gpu import NvmlTelemetry, load_nvml  # needs a driver, which a cpu host has not

    try:
        return NvmlTelemetry(load_nvml(), own=own, index=gpu)
    except Exception as err:  # NVML has its own tree of errors, and a stub of it may raise anything
        log.warning("no telemetry: NVML does not answer (%s: %s)", type(err).__name__, err)
        return Blind()


def company(hardware: str, *, own: Own, gpu: int = 0) -> frozenset[int]:
    """Processes on this GPU that are not ours; none on a CPU, and where it cannot be known."""
    if hardware == "cpu":
        return frozenset()
    from runner.judge.device.gpu import Device, Strangers, load_nvml  # needs a driver

    try:
        return frozenset(Strangers(Device(load_nvml(), gpu), own).pids() or ())
    except Exception as err:  # as above
        log.warning("NVML does not say who is on the device (%s: %s)", type(err).__name__, err)
        return frozenset()
