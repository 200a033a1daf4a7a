"""The reference's own time in the problem's container, on the host or a device, and what a device keeps meanwhile."""

from __future__ import annotations

import time

import torch

HEAD_START_CYCLES = 200_000  # a tenth of a millisecond
SPARE_BYTES = 4 << 30  # of device memory that is kept though nothing lies in it


class HostWatch:
    """What was done on the host is done."""

    def settle(self) -> None:
        """Nothing is on its way."""

    def start(self) -> None:
        self._began = time.perf_counter_ns()

    def stop_ns(self) -> int:
        return time.perf_counter_ns() - self._began

    def tidy(self) -> None:
        """What is kept for the next input and much is given back: others share the device."""


class DeviceWatch:
    """Device time. The device is kept busy while the first of the work is queued: else its events would tell how long
    the host takes to launch a kernel."""

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
