"""Memory of several devices as one: every buffer and region has a part for each rank, of the same length.

A problem for several devices runs on as many ranks at once. The judge's acts on it are those on one device, done on
each: lengths and offsets are those of one part, and a layout's slots name their rank. A call is one shot: each device
puts its part, waits until all have put theirs, opens the gate of its rank, and takes its part when that rank echoes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from runner.judge.data.call import Input
from runner.judge.data.compare import Figures, Rule
from runner.judge.data.layout import Buffer, Slot
from runner.judge.data.memory import Memory, Region


class Parts:
    """A buffer of several ranks. Its length is that of a part, and a slice is taken of all parts."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, place: slice) -> Parts:
        return Parts([part[place] for part in self.parts])


def part_of(buffer: Buffer, rank: int) -> Buffer:
    """Return a rank's part of a buffer; of a buffer without parts, the buffer."""
    return buffer.parts[rank] if isinstance(buffer, Parts) else buffer


class RanksRegion:
    """A region for each rank."""

    def __init__(self, regions: list[Region]) -> None:
        self._regions = regions
        self.size = regions[0].size
        self.bytes = Parts([region.bytes for region in regions])
        self.fds = tuple(fd for region in regions for fd in region.fds)

    def close(self) -> None:
        for region in self._regions:
            region.close()


class RanksMemory(Memory):
    """Memory of the given devices, one a rank."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        first = self._first = memories[0]
        self.memories: Sequence[Memory] = memories
        self.ranks = len(memories)
        self.device, self.module, self.compiler = first.device, first.module, first.compiler
        self.frozen_stands_still, self.sweeps, self.moves = first.frozen_stands_still, first.sweeps, first.moves
        # `draws` stays False: ranks are forked before any device is in use.
        self.snapshot_bytes, self.is_shared = first.snapshot_bytes, first.is_shared

    def of(self, rank: int) -> Memory:
        return self.memories[rank]

    def _each(self, *buffers: Buffer) -> Iterator[tuple[Any, ...]]:
        """Yield each memory with its parts of the buffers, while its device is the current one."""
        for rank, memory in enumerate(self.memories):
            with memory.here():
                yield memory, *(part_of(buffer, rank) for buffer in buffers)

    def region_bytes(self) -> tuple[int, int]:
        return self._first.region_bytes()

    def region(self, name: str, size: int) -> RanksRegion:
        return RanksRegion([memory.region(name, size) for (memory,) in self._each()])

    def buffer(self, size: int) -> Buffer:
        return Parts([memory.buffer(size) for (memory,) in self._each()])

    def free_bytes(self) -> int | None:
        """Return the bytes for each rank: of the device that has least, or an equal part of the host's."""
        found: list[int | None] = [memory.free_bytes() for (memory,) in self._each()]
        known = [free for free in found if free is not None]
        if len(known) < self.ranks:
            return None
        return min(known) // (1 if self.is_shared else self.ranks)

    def unused_bytes(self) -> int | None:
        found: list[int | None] = [memory.unused_bytes() for (memory,) in self._each()]
        known = [unused for unused in found if unused is not None]
        return min(known) if len(known) == self.ranks else None

    def copy(self, target: Buffer, source: Buffer, count: int) -> None:
        for memory, into, out_of in self._each(target, source):
            memory.copy(into, out_of, count)

    def to_host(self, source: Buffer, count: int) -> Any:
        """Return the bytes of all ranks, one behind the other."""
        return b"".join(bytes(memory.to_host(part, count)) for memory, part in self._each(source))

    @contextmanager
    def together(self) -> Iterator[None]:
        with ExitStack() as stack:
            for (memory,) in self._each():
                stack.enter_context(memory.together())
            yield

    def stage(self, source: Buffer, count: int) -> None:
        for memory, part in self._each(source):
            memory.stage(part, count)

    def put(self, target: Buffer, source: Buffer, count: int, *, hot: bool = False) -> None:
        for memory, into, out_of in self._each(target, source):
            memory.put(into, out_of, count, hot=hot)

    def probe_ns(self) -> int:
        """Return the longest of all devices."""
        found: list[int] = [memory.probe_ns() for (memory,) in self._each()]
        return max(found)

    def fill(self, target: Buffer, count: int, pattern: int) -> None:
        for memory, part in self._each(target):
            memory.fill(part, count, pattern)

    def same(self, left: Buffer, right: Buffer, count: int) -> bool:
        return all(memory.same(one, other, count) for memory, one, other in self._each(left, right))

    def compare(self, given: Input, got: Buffer, rule: Rule) -> list[Figures]:
        """Return the figures of all outputs, in their order; those of a rank are compared on its device."""
        by_rank: list[Iterator[Figures]] = []
        for rank, (memory, expected, output) in enumerate(self._each(given.expected, got)):
            slots = tuple(slot for slot in given.layout.slots if slot.rank == rank or slot.output < 0)
            own = replace(given, layout=replace(given.layout, slots=slots), expected=expected, terms=(), condition=())
            by_rank.append(iter(memory.compare(own, output, rule)))
        return [next(by_rank[slot.rank]) for slot in given.layout.outputs if slot.nbytes]

    def nans(self, slot: Slot, region: Buffer) -> int:
        memory = self.memories[slot.rank]
        with memory.here():
            return memory.nans(slot, part_of(region, slot.rank))

    def release(self) -> None:
        for (memory,) in self._each():
            memory.release()
