"""Memory for tensors behind one set of operations: host memory here, a device's elsewhere. The judge sees no
difference.

A Region is shared with one container by its descriptor; a buffer is the judge's own. Every operation but `stage` is
complete when it returns.
"""

import fcntl
import mmap
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np

from problems import sizes
from runner.judge.data import compare
from runner.judge.data.call import Input
from runner.judge.data.compare import Rule
from runner.judge.data.layout import Buffer, Slot

F_SEAL_FUTURE_WRITE: Final = 0x10  # Linux 5.1; Python 3.11 has no name for it
ARENA_BYTES: Final = sizes.CPU_INPUT_BYTES  # inputs and outputs each; only used pages are ever touched
MEMINFO: Final = Path("/proc/meminfo")
SIZE_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW


Look = tuple[Buffer, Buffer, int]  # two buffers, and how many of their bytes are compared


class NoMemory(Exception):
    """No memory is left for the judge. While a tenant lives, the tenant has taken it."""


class Region(Protocol):
    """Memory that one container maps too. `bytes` is this side's view, `size` its length, `fds` its descriptors: one
    a rank."""

    @property
    def fds(self) -> tuple[int, ...]: ...

    size: int
    bytes: Buffer

    def close(self) -> None: ...


class Shot(Protocol):
    """Work that a device does by itself: put, open the gate, wait for the echo, take."""

    def fire(self) -> bool:
        """Let the device begin, with an ordinary cache. Returns whether it had waited for this. May be called again."""
        ...

    def is_put(self) -> bool:
        """Return whether the inputs have arrived."""
        ...

    def is_done(self) -> bool: ...

    def times_ns(self) -> tuple[int, int, int]:
        """Return the times of a finished shot, by the device's own clock: total, putting, taking."""
        ...


@runtime_checkable
class WaitingMemory(Protocol):
    """Memory of a device that waits for words, with no host in between."""

    def host_page(self, page: mmap.mmap) -> int:
        """Return the device's address of a page of the host, valid until `forget_page`."""
        ...

    def forget_page(self, page: mmap.mmap) -> None: ...

    def shoot(
        self, put: Callable[[], None], take: Callable[[], None], gates: Sequence[int], echoes: Sequence[int], nonce: int
    ) -> Shot:
        """Hand over a shot, which `Shot.fire` starts. `put` and `take` request copies from this memory; until the shot
        is done, it takes no other request but `stage` and further shots, which follow this one. `gates` and `echoes`:
        addresses of words of a container's answers, one a rank; without gates, no device waits for them."""
        ...


class SharedPages:
    """Sealed memfd, mapped here. `for_reading_only`: later mappings, the container's, cannot write."""

    def __init__(self, name: str, size: int, *, for_reading_only: bool = False) -> None:
        self.size = size
        self.fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)
        seals = SIZE_SEALS | (F_SEAL_FUTURE_WRITE if for_reading_only else 0) | fcntl.F_SEAL_SEAL
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
        self.bytes: Buffer = np.frombuffer(self.map, dtype=np.uint8)

    @property
    def fds(self) -> tuple[int, ...]:
        return (self.fd,)

    def close(self) -> None:
        """Close the descriptor, and free the memory now: views that live on show zeros. Pages for reading only, which
        are few, are freed with their last view."""
        if self.fd >= 0:
            with suppress(OSError):  # a seal keeps pages for reading only
                self.map.madvise(mmap.MADV_REMOVE)
            os.close(self.fd)
            self.fd = -1


class Memory:
    """Operations on memory: on the host's, by numpy. Memory elsewhere is a subclass with all of them.

    Counts are in bytes, always of a layout: multiples of 256. Any operation may raise NoMemory.
    """

    device = "cpu"  # as torch names it
    module = ""  # of sandbox/inside: a container's side of this memory; the host's needs none
    compiler = "g++"  # of submissions that are compiled
    frozen_stands_still = True  # whether a frozen container never works on this memory; a device may
    sweeps = False  # whether a call finds the cache empty, unless it is `hot`
    moves = False  # whether data change places in a region; every place that was used once stays taken
    snapshot_bytes = 2 << 30  # of the judge's memory for the inputs and outputs of one block
    is_shared = False  # whether containers allocate from the same memory, without a limit of their own
    draws = False  # whether launches of one context may be slower than another's all through a job
    ranks = 1  # devices that a call works on at once (ranks.py)

    def of(self, rank: int) -> "Memory":
        """Return the memory of a rank."""
        return self

    def here(self) -> AbstractContextManager[Any]:
        """Make this device the current one, where there are several."""
        return nullcontext()

    def region_bytes(self) -> tuple[int, int]:
        """Return the sizes of a container's inputs and outputs."""
        return ARENA_BYTES, ARENA_BYTES

    works_beside_oracle = False  # whether the judge compares on other processors than the oracle's

    def region(self, name: str, size: int) -> Region:
        return SharedPages(name, size)

    def buffer(self, size: int) -> Buffer:
        """Return touched memory, to keep page faults of ours out of every clock."""
        try:
            return np.ones(size, dtype=np.uint8)
        except MemoryError:
            raise NoMemory(f"no {size} bytes of memory are left for the judge") from None

    def free_bytes(self) -> int | None:
        """Return how many bytes the judge could have now, a device's with its own buffers; None if unknown."""
        with suppress(OSError, ValueError, IndexError):
            for line in MEMINFO.read_text().splitlines():
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return None

    def unused_bytes(self) -> int | None:
        """Return how many bytes any code could have now, beside the judge's own buffers; None if unknown."""
        return self.free_bytes()

    def copy(self, target: Buffer, source: Buffer, count: int) -> None:
        np.copyto(target[:count], source[:count])

    def to_host(self, source: Buffer, count: int) -> Any:
        """Return bytes of the judge's as numpy has them."""
        return source[:count]

    def together(self) -> AbstractContextManager[None]:
        """Defer completion: copies, fills and stagings in this context are complete when it ends."""
        return nullcontext()

    def stage(self, source: Buffer, count: int) -> None:
        """Do the work of a `put` of the same bytes that can be done before the clock. On the host there is none: no
        thread of a frozen container sees inputs while they are copied."""

    def put(self, target: Buffer, source: Buffer, count: int, *, hot: bool = False) -> None:
        """Copy inputs into a container's region, inside the clock. `hot`: the cache may keep its contents."""
        self.copy(target, source, count)

    def probe_ns(self) -> int:
        """Return how long a tiny piece of the judge's own work took, in ns, to test whether the device is idle; 0 if
        the test makes no sense."""
        return 0

    def fill(self, target: Buffer, count: int, pattern: int) -> None:
        target[:count].view(np.uint64)[:] = pattern

    def same(self, left: Buffer, right: Buffer, count: int) -> bool:
        return bool(np.array_equal(left[:count].view(np.uint64), right[:count].view(np.uint64)))

    def all_same(self, looks: Sequence[Look]) -> list[bool]:
        """Return for each pair of buffers whether they have the same contents."""
        return [self.same(*look) for look in looks]

    def compare(self, given: Input, got: Buffer, rule: Rule) -> list[compare.Figures]:
        return compare.compare(given, got, rule)

    def nans(self, slot: Slot, region: Buffer) -> int:
        return compare.nans(slot, region)

    def release(self) -> None:
        """Give kept memory back to the device: it may never be needed again. The host keeps none."""
