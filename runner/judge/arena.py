"""Memory shared with one container by file descriptor, on `cpu` hardware sealed memfds.

One input and one output allocation a container, never mapped by two, and two control pages, one a direction. The judge
laid out every byte; what it reads back is data. Sizes are sealed, so that no truncation can take a page from under it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from typing import Any, Final

import numpy as np

from runner.judge.layout import Layout
from sandbox import protocol

F_SEAL_FUTURE_WRITE: Final = 0x10  # Linux 5.1; Python 3.11 has no name for it
SIZE_SEALS: Final = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Region:
    """One sealed memfd, mapped here. `for_reading_only`: later mappings, the container's, cannot write."""

    def __init__(self, name: str, size: int, *, for_reading_only: bool = False) -> None:
        self.size = size
        self.fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        os.ftruncate(self.fd, size)
        self.map = mmap.mmap(self.fd, size)
        seals = SIZE_SEALS | (F_SEAL_FUTURE_WRITE if for_reading_only else 0) | fcntl.F_SEAL_SEAL
        fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, seals)
        self.bytes: Bytes = np.frombuffer(self.map, dtype=np.uint8)

    def close(self) -> None:
        """The memory itself goes when the last view of it does."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


class Arena:
    """What a tenant shares with the judge."""

    def __init__(self, input_bytes: int, output_bytes: int) -> None:
        self.inputs = Region("inputs", input_bytes)
        self.outputs = Region("outputs", output_bytes)
        self.orders = Region("orders", protocol.ORDERS_BYTES, for_reading_only=True)
        self.answers = Region("answers", protocol.ANSWERS_BYTES)

    @property
    def descriptors(self) -> tuple[int, int, int, int]:
        return self.inputs.fd, self.outputs.fd, self.orders.fd, self.answers.fd

    def poison(self, layout: Layout, pattern: int) -> None:
        """A fresh 64-bit pattern over the whole output, so that nothing that was left there can pass for a result."""
        whole = -(-layout.output_bytes // 8) * 8
        self.outputs.bytes[:whole].view(np.uint64)[:] = pattern

    def put_inputs(self, layout: Layout, inputs: Bytes) -> None:
        """From the judge's private memory; `inout` tensors get their first contents where the result is expected."""
        np.copyto(self.inputs.bytes[: layout.input_bytes], inputs[: layout.input_bytes])
        for slot in layout.slots:
            if slot.role == "inout":
                first = inputs[slot.input : slot.input + slot.nbytes]
                np.copyto(self.outputs.bytes[slot.output : slot.output + slot.nbytes], first)

    def take_outputs(self, layout: Layout, into: Bytes) -> None:
        """The whole output into private memory."""
        np.copyto(into[: layout.output_bytes], self.outputs.bytes[: layout.output_bytes])

    def outputs_are(self, layout: Layout, snapshot: Bytes) -> bool:
        return _same(self.outputs.bytes, snapshot, layout.output_bytes)

    def inputs_are(self, layout: Layout, inputs: Bytes) -> bool:
        return _same(self.inputs.bytes, inputs, layout.input_bytes)

    def close(self) -> None:
        for region in (self.inputs, self.outputs, self.orders, self.answers):
            region.close()


def _same(left: Bytes, right: Bytes, count: int) -> bool:
    """Byte for byte, eight at a time; regions are padded to multiples of 256."""
    whole = count // 8 * 8
    same = np.array_equal(left[:whole].view(np.uint64), right[:whole].view(np.uint64))
    return bool(same and np.array_equal(left[whole:count], right[whole:count]))
