"""Places of a case's tensors in the two regions: the oracle's JSON, parsed once into frozen, bounded values.

The oracle is trusted with the problem alone, and its layout is not trusted: sizes, offsets and types are checked
against the regions before a byte is copied.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

import ml_dtypes
import numpy as np

from runner.judge.data.faults import OracleFailed
from sandbox.protocol import ALIGN, MOST_DIMS, MOST_SLOTS, wide_places

log = logging.getLogger("runner.layout")

Buffer = Any  # one-dimensional bytes: a numpy array on the host, a torch tensor on a device

MAX_LAYOUT_BYTES: Final = 500_000
MOST_OUTPUTS: Final = 256  # with elements; the evidence has figures of each
MOST: Final = 1 << 62  # of any number in a layout

# All exceptions that reading untrusted JSON can raise: each is the sender's fault.
MALFORMED: Final = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)

# role → whether the tensor has memory of its own among the inputs, and among the outputs.
PLACED: Final = {"in": (True, False), "out": (False, True), "inout": (True, True)}

# dtype → (bytes, the judge's view of it). bfloat16 is widened to float32. Exponents alone (e8m0) and two numbers in a
# byte (e2m1 x2) are bits to the judge, as packed integers are.
DTYPES: Final[dict[str, tuple[int, str]]] = {
    "float64": (8, "<f8"),
    "float32": (4, "<f4"),
    "float16": (2, "<f2"),
    "bfloat16": (2, "<u2"),
    "complex32": (4, "<f2"),
    "complex64": (8, "<c8"),
    "complex128": (16, "<c16"),
    **{f"int{8 * size}": (size, f"<i{size}") for size in (8, 4, 2, 1)},
    **{f"uint{8 * size}": (size, f"<u{size}") for size in (8, 4, 2, 1)},
    "bool": (1, "u1"),
    **dict.fromkeys(("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"), (1, "u1")),
    **dict.fromkeys(("float8_e8m0fnu", "float4_e2m1fn_x2"), (1, "u1")),
}


# The value of each of the 256 patterns.
FLOAT8: Final[dict[str, np.ndarray[Any, np.dtype[np.float32]]]] = {
    name: np.arange(256, dtype=np.uint8).view(getattr(ml_dtypes, name)).astype(np.float32)
    for name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz")
}


@dataclass(frozen=True)
class Slot:
    """Place of a tensor. Offsets in bytes into the region, -1 if it does not lie there; strides in elements.

    A tensor with an offset has memory of its own and is dense; a view of another tensor (role "view") has no bytes
    here.
    """

    role: str
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    nbytes: int
    input: int
    output: int
    rank: int = 0  # whose regions these are, of a problem for several devices

    def at(self, output: int) -> Slot:
        """Return the same tensor at another place."""
        return replace(self, output=output)

    def overlaps(self, other: Slot) -> bool:
        """Return whether the two share bytes of the outputs."""
        apart = self.output >= other.output + other.nbytes or other.output >= self.output + self.nbytes
        return self.rank == other.rank and not apart

    def index_of(self, position: int) -> list[int]:
        """Return the index, as its author writes it, of the element at `position` in memory order."""
        index = [0] * len(self.shape)
        for axis in sorted(range(len(self.shape)), key=lambda axis: -self.stride[axis]):
            if self.shape[axis] > 1:
                index[axis], position = divmod(position, self.stride[axis])
        return index


@dataclass(frozen=True)
class Layout:
    """All slots of a case; `text` is the JSON for the harness, byte for byte."""

    slots: tuple[Slot, ...]
    input_bytes: int
    output_bytes: int
    text: bytes

    @property
    def outputs(self) -> tuple[Slot, ...]:
        return tuple(slot for slot in self.slots if slot.output >= 0)

    def wide_places(self) -> tuple[list[int], int]:
        """Return the place of each of `outputs` in double precision (-1: none), and the bytes of all."""
        return wide_places((slot.dtype, slot.shape) for slot in self.outputs)


@contextmanager
def blaming_the_problem(sent: str = "a malformed layout") -> Iterator[None]:
    """Turn any error from an answer of the problem's container into the problem's fault, never the host's."""
    try:
        yield
    except MALFORMED as err:
        log.exception("the problem's container sent %s", sent)
        raise OracleFailed(f"the problem's container sent {sent}: {repr(err)[:500]}") from err


def parse_layout(data: Any, input_limit: int, output_limit: int, ranks: int = 1) -> Layout:
    """Parse a layout. Raises OracleFailed if a slot is malformed, leaves its region or has another rank."""
    with blaming_the_problem():
        given = data["slots"][: MOST_SLOTS + 1]
        slots = tuple(_view(item, given) if item["role"] == "view" else _slot(item) for item in given)
        input_bytes, output_bytes = (_whole(data[key], key) for key in ("input_bytes", "output_bytes"))
        text = json.dumps(data, allow_nan=False).encode()
    fits = 0 <= input_bytes <= input_limit and 0 <= output_bytes <= output_limit
    whole = input_bytes % ALIGN == output_bytes % ALIGN == 0
    if len(slots) > MOST_SLOTS or not fits or not whole or len(text) > MAX_LAYOUT_BYTES:
        raise OracleFailed(f"a case of {len(slots)} tensors, {input_bytes} + {output_bytes} bytes is too large")
    for slot in slots:
        if not 0 <= slot.rank < ranks:
            raise OracleFailed(f"a tensor of rank {slot.rank}, where there are {ranks}")
        for offset, size in ((slot.input, input_bytes), (slot.output, output_bytes)):
            if offset != -1 and not 0 <= offset <= offset + slot.nbytes <= size:
                raise OracleFailed("a tensor leaves its region")
    if not any(slot.output >= 0 and slot.nbytes for slot in slots):
        raise OracleFailed("the reference returns no tensor with any elements: there is nothing to check")
    if (count := sum(slot.output >= 0 and slot.nbytes > 0 for slot in slots)) > MOST_OUTPUTS:
        raise OracleFailed(f"the reference gives {count} tensors to compare, at most {MOST_OUTPUTS}; join some of them")
    return Layout(slots, input_bytes, output_bytes, text)


def returned(layout: Layout) -> list[Slot]:
    """Return the tensors of the reference's result, in its order, each as a dense tensor among the outputs' bytes.

    A view with gaps is replaced by the whole tensor that it looks at. Raises OracleFailed.
    """
    with blaming_the_problem():
        data = json.loads(layout.text)
        numbers = dict.fromkeys(slots_of(data["result"]))
        found = [_dense(layout, number, data["slots"][number]) for number in numbers]
    unique = {(slot.rank, slot.output, slot.nbytes): slot for slot in found if slot.output >= 0}
    return list(unique.values())


def _dense(layout: Layout, number: int, told: dict[str, Any]) -> Slot:
    if type(number) is not int or number < 0:
        raise ValueError(f"a result in slot {str(number)[:40]}")
    slot = layout.slots[number]
    if slot.role != "view":
        return slot
    base: Slot = layout.slots[told["of"]]
    size = math.prod(slot.shape) * DTYPES[slot.dtype][0]
    steps = sorted((step, length) for step, length in zip(slot.stride, slot.shape, strict=True) if length > 1)
    expected = [math.prod(length for _, length in steps[:place]) for place in range(len(steps))]
    if base.output < 0 or [step for step, _ in steps] != expected:
        return base
    return replace(slot, output=base.output + told["at"], nbytes=size)


def slots_of(node: dict[str, Any]) -> Iterator[int]:
    """Yield the slots of a node in the format of sandbox/inside/tree.py."""
    if "slot" in node:
        yield node["slot"]
    for part in node.get("of", ()):
        yield from slots_of(part[1] if isinstance(part, list) else part)


def _slot(data: Any) -> Slot:
    slot = _formed(data, *(_whole(data[key], key) for key in ("nbytes", "input", "output")))
    if slot.nbytes != math.prod(slot.shape) * DTYPES[slot.dtype][0]:
        raise ValueError(f"{slot.nbytes} bytes for {slot.shape} of {slot.dtype}")
    starts = (slot.input, slot.output)
    if tuple(start >= 0 for start in starts) != PLACED[slot.role] or any(
        start % ALIGN for start in starts if start > 0
    ):
        raise ValueError(f"role {slot.role} with the places {starts}")
    expected = 1
    for step, size in sorted(zip(slot.stride, slot.shape, strict=True)):
        if size > 1 and slot.nbytes and step != expected:
            raise ValueError(f"strides {slot.stride} of {slot.shape} overlap or leave gaps")
        expected *= size
    return slot


def _view(data: Any, slots: list[Any]) -> Slot:
    """Parse a tensor in the memory of another slot. Its strides may repeat elements or skip some, but never leave
    it."""
    slot = _formed(data, 0, -1, -1)
    of, at, each = data["of"], data["at"], DTYPES[slot.dtype][0]
    if type(of) is not int or not 0 <= of < len(slots) or slots[of]["role"] == "view" or type(at) is not int:
        raise ValueError("a view of no tensor with memory of its own")
    steps = zip(slot.shape, slot.stride, strict=True)
    length = 0 if 0 in slot.shape else each * (1 + sum((size - 1) * step for size, step in steps))
    if at % each or not 0 <= at <= at + length <= _whole(slots[of]["nbytes"], "nbytes"):
        raise ValueError("a view leaves the tensor that it looks at")
    return slot


def _formed(data: Any, nbytes: int, first: int, second: int) -> Slot:
    shape, stride = (tuple(_whole(n, key) for n in data[key][: MOST_DIMS + 1]) for key in ("shape", "stride"))
    rank = _whole(data.get("rank", 0), "rank")
    slot = Slot(str(data["role"]), str(data["dtype"]), shape, stride, nbytes, first, second, rank)
    if slot.dtype not in DTYPES:
        raise ValueError(f"dtype {slot.dtype} is not supported")
    if len(shape) > MOST_DIMS or len(stride) != len(shape) or any(n < 0 for n in (*shape, *stride)):
        raise ValueError(f"shape {shape} with strides {stride}")
    return slot


def _whole(value: Any, key: str) -> int:
    if type(value) is not int or not -1 <= value <= MOST:  # -1: an offset in a region where the tensor does not lie
        raise ValueError(f"{key}: {str(value)[:40]} is no size or place")
    return value


def values(slot: Slot, region: np.ndarray[Any, np.dtype[np.uint8]]) -> np.ndarray[Any, Any]:
    """Return the slot's elements in memory order, widened if numpy has no matching type. `region` holds the outputs'
    bytes."""
    raw = region[slot.output : slot.output + slot.nbytes]
    if slot.dtype == "bfloat16":
        widened: np.ndarray[Any, Any] = raw.view(ml_dtypes.bfloat16).astype(np.float32)
        return widened
    if slot.dtype in FLOAT8:
        return FLOAT8[slot.dtype][raw]
    if slot.dtype.startswith("complex"):  # real and imaginary part are compared separately
        parts = raw.view({"complex32": "<f2", "complex64": "<f4", "complex128": "<f8"}[slot.dtype])
        return parts.astype(np.float32) if slot.dtype == "complex32" else parts
    return raw.view(DTYPES[slot.dtype][1])
