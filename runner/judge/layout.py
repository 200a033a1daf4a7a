"""Where a case's tensors lie in the two regions: the oracle's JSON, parsed once into frozen, bounded values.

The oracle is trusted with the problem alone, so nothing here is believed: sizes, offsets and types are checked against
the regions before a byte is copied.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from runner.judge.faults import OracleFailed

MAX_SLOTS: Final = 256
MAX_DIMS: Final = 12
ALIGN: Final = 256  # bytes; offsets and sizes of regions are multiples of it
MAX_LAYOUT_BYTES: Final = 500_000

WIDE_FACTOR: Final = 2  # bytes for outputs in double precision, against those for outputs
# Bytes of one element in double precision, of the formats that an error model knows. As in sandbox/inside/tree.py.
WIDE_BYTES: Final = {
    **dict.fromkeys(("float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"), 8),
    **dict.fromkeys(("complex64", "complex128"), 16),
}

# dtype → (bytes, how the judge looks at it). bfloat16 has no numpy type: its bits are widened to float32.
DTYPES: Final[dict[str, tuple[int, str]]] = {
    "float64": (8, "<f8"),
    "float32": (4, "<f4"),
    "float16": (2, "<f2"),
    "bfloat16": (2, "<u2"),
    "complex64": (8, "<c8"),
    "complex128": (16, "<c16"),
    "int64": (8, "<i8"),
    "int32": (4, "<i4"),
    "int16": (2, "<i2"),
    "int8": (1, "i1"),
    "uint8": (1, "u1"),
    "bool": (1, "u1"),
    "float8_e4m3fn": (1, "u1"),
    "float8_e5m2": (1, "u1"),
}


def _float8(exponent_bits: int, mantissa_bits: int, *, has_infinity: bool) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The value of each of the 256 patterns (OCP 8-bit Floating Point Specification, 2023)."""
    patterns = np.arange(256)
    exponent = (patterns & 0x7F) >> mantissa_bits
    fraction = (patterns & ((1 << mantissa_bits) - 1)) / (1 << mantissa_bits)
    bias = (1 << (exponent_bits - 1)) - 1
    size = np.ldexp(np.where(exponent > 0, 1 + fraction, fraction), np.maximum(exponent, 1) - bias)
    if has_infinity:
        top = exponent == (1 << exponent_bits) - 1
        size = np.where(top, np.where(fraction == 0, np.inf, np.nan), size)
    else:
        size[patterns & 0x7F == 0x7F] = np.nan
    signed: np.ndarray[Any, np.dtype[np.float32]] = np.where(patterns & 0x80, -size, size).astype(np.float32)
    return signed


FLOAT8: Final = {
    "float8_e4m3fn": _float8(4, 3, has_infinity=False),
    "float8_e5m2": _float8(5, 2, has_infinity=True),
}


@dataclass(frozen=True)
class Slot:
    """One tensor. Offsets in bytes into the region, -1 where it does not lie there; strides in elements."""

    role: str
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    nbytes: int
    input: int
    output: int

    def at(self, output: int) -> Slot:
        """The same tensor at another place."""
        return replace(self, output=output)

    def index_of(self, position: int) -> list[int]:
        """The index, as its author writes it, of the element at `position` in memory order."""
        index = [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -self.stride[axis]):
            if self.shape[axis] > 1:
                index[axis], position = divmod(position, self.stride[axis])
        return index


@dataclass(frozen=True)
class Layout:
    """All slots of one case; `text` is what the harness gets, byte for byte."""

    slots: tuple[Slot, ...]
    input_bytes: int
    output_bytes: int
    text: bytes

    @property
    def outputs(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if slot.output >= 0)


def wide_places(layout: Layout) -> tuple[dict[int, int], int]:
    """Where each output lies in double precision, by its number among `outputs`; the bytes of all of them.

    Behind these bytes the spreads of the same elements have the same places.
    """
    places: dict[int, int] = {}
    end = 0
    for index, slot in enumerate(layout.outputs):
        size = math.prod(slot.shape) * WIDE_BYTES.get(slot.dtype, 0)
        if size:
            places[index] = end
        end += -(-size // ALIGN) * ALIGN
    return places, end


def parse_layout(data: Any, input_limit: int, output_limit: int) -> Layout:
    """Raises OracleFailed where a slot is malformed or leaves its region."""
    try:
        slots = tuple(_slot(item) for item in data["slots"][: MAX_SLOTS + 1])
        input_bytes, output_bytes = int(data["input_bytes"]), int(data["output_bytes"])
        text = json.dumps(data, allow_nan=True).encode()
    except (KeyError, TypeError, ValueError, RecursionError) as err:
        raise OracleFailed(f"the problem's container sent a malformed layout: {err!r}") from None
    fits = 0 <= input_bytes <= input_limit and 0 <= output_bytes <= output_limit
    whole = input_bytes % ALIGN == output_bytes % ALIGN == 0
    if len(slots) > MAX_SLOTS or not fits or not whole or len(text) > MAX_LAYOUT_BYTES:
        raise OracleFailed(f"a case of {len(slots)} tensors, {input_bytes} + {output_bytes} bytes is too large")
    for slot in slots:
        for offset, size in ((slot.input, input_bytes), (slot.output, output_bytes)):
            if offset != -1 and not 0 <= offset <= offset + slot.nbytes <= size:
                raise OracleFailed("a tensor leaves its region")
    if not any(slot.output >= 0 and slot.nbytes for slot in slots):
        raise OracleFailed("the reference returns no tensor with any elements: there is nothing to check")
    return Layout(slots, input_bytes, output_bytes, text)


def _slot(data: Any) -> Slot:
    shape = tuple(int(n) for n in data["shape"])
    slot = Slot(
        role=str(data["role"]),
        dtype=str(data["dtype"]),
        shape=shape,
        stride=tuple(int(n) for n in data["stride"]),
        nbytes=int(data["nbytes"]),
        input=int(data["input"]),
        output=int(data["output"]),
    )
    if slot.dtype not in DTYPES:
        raise ValueError(f"dtype {slot.dtype} is not supported")
    if len(shape) > MAX_DIMS or len(slot.stride) != len(shape) or any(n < 0 for n in (*shape, *slot.stride)):
        raise ValueError(f"shape {shape} with strides {slot.stride}")
    if slot.nbytes != math.prod(shape) * DTYPES[slot.dtype][0]:
        raise ValueError(f"{slot.nbytes} bytes for {shape} of {slot.dtype}")
    return slot


def values(slot: Slot, region: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, Any]:
    """The slot's elements in memory order, widened where numpy has no such type. `region` holds the outputs' bytes."""
    raw = region[slot.output : slot.output + slot.nbytes]
    if slot.dtype == "bfloat16":
        return (raw.view("<u2").astype(np.uint32) << 16).view(np.float32)
    if slot.dtype in FLOAT8:
        return FLOAT8[slot.dtype][raw]
    if slot.dtype.startswith("complex"):
        return raw.view("<f4" if slot.dtype == "complex64" else "<f8")  # real and imaginary part are compared each
    return raw.view(DTYPES[slot.dtype][1])
