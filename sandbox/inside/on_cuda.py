"""A container's side of memory on an NVIDIA GPU: what a tenant and the oracle do there that the host's own memory needs
not.

Another make is a module with a `Timer` and a `Watch` of the same methods (docs/porting.md). The judge names the module
when it hands over the memory.
"""

import ctypes
import mmap
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import cuda_context
import device
import protocol
import torch

draw = cuda_context.draw
HEAD_START_CYCLES = 200_000  # a tenth of a millisecond
SPARE_BYTES = 4 << 30  # of device memory that stays reserved while it is empty


class Timer:
    """Timer for device memory, by device events: pure device time. When the last call's time is returned, all work is
    done.

    The device itself waits for the inputs and signals its end to the judge. No tenant's host code, neither ours nor a
    submission's, is part of the time that the judge's clock measures.
    """

    def __init__(self, rank: int = 0) -> None:
        device.start(rank)
        self.map = device.adopt
        self._echo = self._gate = 0
        self._aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.begun = deque[Any]()  # first and last event of each call whose time is still to come; None of a lean one

    def use(self, answers: memoryview) -> None:
        page = device.device_address(ctypes.addressof(ctypes.c_char.from_buffer(answers)), mmap.PAGESIZE)
        self._echo, self._gate = page + protocol.ECHO_OFFSET, page + protocol.GATE_OFFSET

    def time(self, work: Callable[[], None], nonce: int) -> int:
        self.begin(work, nonce, behind_gate=False)
        return self.told()

    def begin(self, work: Callable[[], None], nonce: int, *, behind_gate: bool) -> None:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
        if behind_gate:  # in both streams: a context where one stream waits for the other takes a turn of 2 ms
            self._wait_for_gate(nonce)
        first.record()
        work()
        last.record()
        self._aside.wait_event(last)
        device.write_when_done(self._aside.cuda_stream, self._echo, nonce)
        self.begun.append((first, last))

    def begin_lean(self, work: Callable[[], None], nonce: int) -> None:
        """Begin a call behind the gate with nothing around its work that other code could spare.

        There are no events, and the echo comes as soon as the gate is open: the judge's device has its turn when this
        context has no work left, and would have had it no earlier by any other echo.
        """
        self._wait_for_gate(nonce)
        work()
        device.write_when_done(self._aside.cuda_stream, self._echo, nonce)
        self.begun.append(None)

    def _wait_for_gate(self, nonce: int) -> None:
        """Let both streams wait. The gate of a later call in the series lets them pass, too: after the echo of a lean
        call it may be open before one of them has looked."""
        for stream in (torch.cuda.current_stream(), self._aside):
            device.wait_for_at_least(stream.cuda_stream, self._gate, nonce)

    def told(self) -> int:
        """Return the time in ns of the first call whose time is still to come; 0 of a lean call, which has none."""
        events = self.begun.popleft()
        if not self.begun:
            torch.cuda.synchronize()
        if events is None:
            return 0
        first, last = events
        last.synchronize()  # later calls may still wait for their gates
        return int(first.elapsed_time(last) * 1e6)

    def forget(self) -> None:
        """Give back the memory that torch keeps for further calls: processes share a device."""
        with suppress(Exception):  # a broken context shows in the next call
            torch.cuda.empty_cache()


class Watch:
    """Device time.

    The device is kept busy while the host queues the first work. Without this, its events would measure how long the
    host takes to launch a kernel.
    """

    def __init__(self, ranks: int = 1) -> None:
        self._devices = range(ranks)
        for number in reversed(self._devices):  # the first is the current one in the end
            device.start(number)
        self._first = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        self._last = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
        self._used = [0] * ranks  # bytes of tensors, after the last request

    def map(self, fd: int, size: int, rank: int = 0) -> torch.Tensor:
        with torch.cuda.device(rank):
            # Collectives of the reference's ranks copy between devices.
            found: torch.Tensor = device.adopt(fd, size, [other for other in self._devices if other != rank])
            return found

    def start(self) -> None:
        torch.cuda._sleep(HEAD_START_CYCLES)  # type: ignore[no-untyped-call]
        self._first.record()

    def stop_ns(self) -> int:
        self._last.record()
        self.wait()
        return int(self._first.elapsed_time(self._last) * 1e6)

    def wait(self) -> None:
        for number in self._devices:
            torch.cuda.synchronize(number)

    def finish(self) -> dict[str, int]:
        """Wait for all work, and give back much memory kept for the next input, since processes share a device.

        Returns the memory that this process holds, the most that it held, and the most that its tensors took beyond
        those of the request before; of several devices that of the fullest.
        """
        self.wait()
        found = [self._finished(number) for number in self._devices]
        return {name: max(one[name] for one in found) for name in found[0]}

    def _finished(self, number: int) -> dict[str, int]:
        kept = torch.cuda.memory_stats_as_nested_dict(number)  # its flat form takes 0.3 ms
        reserved, used = (kept[name]["all"]["current"] for name in ("reserved_bytes", "allocated_bytes"))
        peak, most_used = (kept[name]["all"]["peak"] for name in ("reserved_bytes", "allocated_bytes"))
        work, self._used[number] = max(most_used - self._used[number], 0), used
        torch.cuda.reset_peak_memory_stats(number)
        if reserved - used > SPARE_BYTES:
            torch.cuda.empty_cache()
            reserved = torch.cuda.memory_reserved(number)
        return {"held_bytes": reserved, "peak_bytes": peak, "work_bytes": work}

    def left_bytes(self) -> None:
        """Return None: torch raises an error where a device is full, and the program goes on."""
