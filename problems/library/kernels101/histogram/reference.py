"""Inputs and expected output of a histogram. Runs in the oracle, never beside a submission."""

import numpy as np
import torch
from task import input_t, output_t

LEVELS = 1 << 16  # what a value is drawn from: the table of a distribution says which bin each level falls into

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, size: int, bins: int, seed: int, distribution: str = "uneven") -> input_t:
    """`counts` is the output's place; it holds nothing yet."""
    bits = np.random.SFC64(seed)
    table = _table(bins, distribution, np.random.Generator(bits))
    if DEVICE == "cuda":
        values = _drawn_there(size, bits, table)
        return values.sort().values if distribution == "sorted" else values, _place(bins)
    fours = table[_levels(bits, 4 * LEVELS)].reshape(LEVELS, 4)  # drawn four at a time: a timed call needs millions
    values = np.take(fours, _levels(bits, (size + 3) // 4), axis=0).reshape(-1)[:size]
    if distribution == "sorted":
        values = np.repeat(np.arange(bins, dtype=np.int32), np.bincount(values, minlength=bins))
    return torch.from_numpy(values), _place(bins)


def ref_kernel(data: input_t) -> output_t:
    values, counts = data
    counts.copy_(torch.bincount(values, minlength=counts.numel()))
    return counts


def _place(bins: int) -> torch.Tensor:
    return torch.empty(bins, dtype=torch.int32, device=DEVICE)


def _drawn_there(size: int, bits: np.random.SFC64, table: np.ndarray) -> torch.Tensor:
    """A GPU draws them itself: from the host they would take longer than a kernel."""
    chance = torch.Generator(device=DEVICE).manual_seed(bits.random_raw())
    levels = torch.randint(LEVELS, (size,), generator=chance, dtype=torch.int32, device=DEVICE)
    return torch.from_numpy(table).to(DEVICE).index_select(0, levels)


def _levels(bits: np.random.BitGenerator, count: int) -> np.ndarray:
    return bits.random_raw((count + 3) // 4).view(np.uint16)[:count]


def _table(bins: int, distribution: str, chance: np.random.Generator) -> np.ndarray:
    """The bin of each level; as many levels to a bin as it is likely."""
    if distribution in ("uniform", "sorted"):
        weights = np.ones(bins)
    elif distribution == "uneven":  # some bins get several times what others do, and nobody knows which
        weights = chance.exponential(size=bins)
    elif distribution == "crowded":  # nine of ten values in one bin, which all then want to write to
        weights = np.full(bins, 0.1 / bins)
        weights[chance.integers(bins)] += 0.9
    elif distribution == "single":  # all in one bin: more than a counter of 16 bits holds
        weights = np.zeros(bins)
        weights[chance.integers(bins)] = 1
    else:
        raise ValueError(f"unknown distribution {distribution!r}")
    ends = np.rint(weights.cumsum() / weights.sum() * LEVELS).astype(np.int64)
    return np.repeat(np.arange(bins, dtype=np.int32), np.diff(ends, prepend=0))
