"""Time of the reference in the problem's container, on the host or a device, and memory kept on a device meanwhile."""

from __future__ import annotations

import time

import torch

HEAD_START_CYCLES = 200_000  # a tenth of a millisecond
SPARE_BYTES = 4 << 30  # of device memory that stays reserved while it is empty


class HostWatch:
    """Host time. Host work is done when its call returns."""

    def settle(self) -> None:
        """Do nothing: no host work is pending."""

    def start(self) -> None:
        self._began = time.perf_counter_ns()

    def stop_ns(self) -> int:
        return time.perf_counter_ns() - self._began

    def tidy(self) -> None:
        """Give back much memory kept for the next input, since processes share a device. The host keeps none."""


class DeviceWatch:
    """Device time.

    The device is kept busy while the host queues the first work. Without this, its events would measure how long the
    host takes to launch a kernel.
    """

    def __init__(self) -> None:
        self._first = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        self._last = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]

    def settle(self) -> None:
        torch.cuda.synchronize()

    def start(self) -> None:
        torch.cuda._sleep(HEAD_START_CYCLES)  # type: ignore[no-untyped-call]
        self._first.record()

    def stop_ns(self) -> int:
        self._last.record()
        self.settle()
        return int(self._first.elapsed_time(self._last) * 1e6)

    def tidy(self) -> None:
        kept = torch.cuda.memory_stats_as_nested_dict()  # its flat form takes 0.3 ms
        reserved, used = (kept[name]["all"]["current"] for name in ("reserved_bytes", "allocated_bytes"))
        if reserved - used > SPARE_BYTES:
            torch.cuda.empty_cache()
