"""Array operations for comparisons, in host memory (here, numpy) or on a device (device_arrays.py, torch)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from runner.judge.data.layout import Slot, values

Array = Any  # of numpy or torch, as the Arrays in use make them
Buffer = Any
Bytes = np.ndarray[Any, np.dtype[np.uint8]]
Far = np.ndarray[Any, np.dtype[np.bool_]]  # which elements are wrong


class Arrays:
    """Array operations, on numpy's arrays in host memory; a subclass has all of them for memory elsewhere.

    `xp`: the module of the functions that numpy and torch share by name.
    """

    xp: Any = np
    chunk: int = 1 << 16  # elements at a time; so many fit in a core's cache

    def values(self, slot: Slot, region: Buffer) -> Array:
        """Return the values flat, in memory order; parts of complex numbers one after the other; float8 widened."""
        return values(slot, region)

    def doubles(self, region: Buffer, offset: int, count: int) -> Array:
        return region[offset : offset + 8 * count].view(np.float64)

    def single(self, array: Array) -> Array:
        """Return at least float32: narrower numbers widened."""
        return array if array.dtype.itemsize >= 4 else array.astype(np.float32)

    def double(self, array: Array) -> Array:
        return array.astype(np.float64)

    def row_squares(self, array: Array, width: int) -> Array:
        """Return the sum of squares of each row, in float64."""
        rows = array.reshape(-1, width)
        return np.einsum("ij,ij->i", rows, rows).astype(np.float64) if width > 1 else np.square(self.double(rows[:, 0]))

    def same(self, slot: Slot, left: Buffer, right: Buffer) -> bool:
        """Return whether the bytes are the same."""
        place = slice(slot.output, slot.output + slot.nbytes)
        return bool(np.array_equal(left[place], right[place]))

    def mask(self, array: Array) -> Far:
        """Return the mask in host memory."""
        return np.asarray(array)

    def sample(self, array: Array) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Return the array in host memory and float64."""
        return np.asarray(array, np.float64)

    def host(self, slot: Slot, region: Buffer) -> tuple[Slot, Bytes]:
        """Return this output alone in host memory: its slot there, and the bytes."""
        return slot.at(0), region[slot.output : slot.output + slot.nbytes]


HOST: Final = Arrays()


def nans(slot: Slot, region: Buffer, arrays: Arrays = HOST) -> int:
    """Return how many numbers of this output are NaN; parts of complex numbers count each."""
    values, xp = arrays.values(slot, region), arrays.xp
    starts = range(0, len(values), arrays.chunk)
    return sum(int(xp.count_nonzero(xp.isnan(values[start : start + arrays.chunk]))) for start in starts)
