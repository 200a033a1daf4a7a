"""Array operations of compare.py on torch tensors, for outputs on a device. The same functions run on the CPU, for
tests."""

from typing import Any, Final

import numpy as np
import torch

from runner.judge.data.compare import Arrays, Bytes, Far
from runner.judge.data.layout import Slot

BITS_ALONE: Final = ("float8_e8m0fnu", "float4_e2m1fn_x2")
SIGNED: Final = ("uint16", "uint32", "uint64")  # torch compares and adds only the signed types

PART: Final = 1 << 28  # elements


class TensorArrays(Arrays):
    """Array operations on one-dimensional uint8 tensors. `chunk`: elements at a time; each takes some dozen bytes."""

    xp: Any = torch

    def __init__(self, chunk: int) -> None:
        self.chunk = chunk

    def values(self, slot: Slot, region: torch.Tensor) -> torch.Tensor:
        raw = _bytes(slot, region)
        flat = raw.view(getattr(torch, slot.dtype)) if slot.dtype not in BITS_ALONE else raw
        if flat.is_complex():
            parts = torch.view_as_real(flat).view(-1)
            return parts.float() if parts.dtype == torch.float16 else parts
        if slot.dtype in SIGNED:
            return flat.to(torch.int64) if flat.dtype.itemsize < 8 else flat.view(torch.int64)
        return flat.float() if flat.is_floating_point() and flat.dtype.itemsize == 1 else flat

    def doubles(self, region: torch.Tensor, offset: int, count: int) -> torch.Tensor:
        return region[offset : offset + 8 * count].view(torch.float64)

    def single(self, array: torch.Tensor) -> torch.Tensor:
        return array if array.dtype.itemsize >= 4 else array.float()

    def double(self, array: torch.Tensor) -> torch.Tensor:
        return array.double()

    def row_squares(self, array: torch.Tensor, width: int) -> torch.Tensor:
        norms: torch.Tensor = torch.linalg.vector_norm(array.view(-1, width), dim=1)  # needs no array of squares
        return norms.double().square_()

    def same(self, slot: Slot, left: torch.Tensor, right: torch.Tensor) -> bool:
        """Compare by words where they fit, in parts: a comparison takes a byte per element."""
        word = torch.uint8 if (slot.output | slot.nbytes) % 8 else torch.int64
        one, other = (torch.split(_bytes(slot, region).view(word), PART) for region in (left, right))
        return all(map(torch.equal, one, other))

    def numbers(self, *single: torch.Tensor) -> list[float]:
        found: list[float] = torch.stack([one.double() for one in single]).tolist()
        return found

    def mask(self, array: torch.Tensor) -> Far:
        return np.asarray(array.cpu().numpy())

    def sample(self, array: torch.Tensor) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.asarray(array.double().cpu().numpy())

    def host(self, slot: Slot, region: torch.Tensor) -> tuple[Slot, Bytes]:
        return slot.at(0), np.ascontiguousarray(_bytes(slot, region).cpu().numpy())


def _bytes(slot: Slot, region: torch.Tensor) -> torch.Tensor:
    return region[slot.output : slot.output + slot.nbytes]
