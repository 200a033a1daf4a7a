"""Inputs and expected output of a histogram. Runs in the oracle, never beside a submission."""

import numpy as np
import torch
from task import input_t, output_t

LEVELS = 1 << 16  # what a value is drawn from: the table of a distribution says which bin each level falls into

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, size: int, bins: int, seed: int, distribution: str = "uneven") -> input_t:
    """`counts` is the output's place; it holds nothing yet."""
    bits = np.random.SFC64(seed)
    levels = bits.random_raw((size + 3) // 4).view(np.uint16)[:size]
    values = torch.from_numpy(np.take(_table(bins, distribution, np.random.Generator(bits)), levels))
    if distribution == "sorted":
        values = values.sort().values
    return values.to(DEVICE), torch.empty(bins, dtype=torch.int32, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    values, counts = data
    counts.copy_(torch.bincount(values, minlength=counts.numel()))
    return counts


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
