"""Inputs and expected output of top-k. Runs in the oracle, never beside a submission."""

import numpy as np
import torch
from task import input_t, output_t

COARSE = 4096.0  # steps of a row of few values: some are equal among the largest, and often at the border

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, rows: int, n: int, k: int, seed: int, distribution: str = "uniform") -> input_t:
    """`values` and `indices` are the outputs' places; they hold nothing yet. k is at most n."""
    x = draw(rows, n, seed, distribution)
    return x, torch.empty(rows, k, device=DEVICE), torch.empty(rows, k, dtype=torch.int64, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    """Of equal values torch.topk takes any; so all that reach the k-th value are sorted, stably, and k of them kept."""
    x, values, indices = data
    rows, k = values.shape
    least = torch.topk(x, k, dim=-1).values[:, -1:]
    row, column = (x >= least).nonzero(as_tuple=True)  # by row, then by column
    order = x[row, column].argsort(descending=True, stable=True)
    order = order[row[order].argsort(stable=True)]
    row, column = row[order], column[order]
    counts = row.bincount(minlength=rows)
    rank = torch.arange(len(row), device=x.device) - (counts.cumsum(0) - counts)[row]
    indices.copy_(column[rank < k].view(rows, k))
    values.copy_(x.gather(1, indices))
    return values, indices


def draw(rows: int, n: int, seed: int, distribution: str) -> torch.Tensor:
    if distribution == "uniform":
        return _uniform(rows, n, seed)
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    normal = torch.randn(rows, n, generator=generator, device=DEVICE)
    if distribution == "normal":
        return normal
    if distribution == "few":  # eight different values, negative ones too
        return torch.randint(-4, 4, (rows, n), generator=generator, device=DEVICE).float()
    if distribution == "close":  # they differ in their last bits only
        return torch.randint(1 << 16, (rows, n), generator=generator, device=DEVICE).float().mul_(2.0**-23).sub_(2)
    if distribution == "wide":  # magnitudes over 160 binary orders
        exponent = torch.randint(-80, 81, (rows, n), generator=generator, device=DEVICE)
        return torch.ldexp(normal, exponent)
    if distribution == "rising":  # each element replaces one that was among the largest
        return normal.sort(dim=-1).values
    if distribution == "falling":
        return normal.sort(dim=-1, descending=True).values
    if distribution == "constant_rows":
        return normal[:, :1].expand(rows, n).contiguous()
    if distribution == "zeros":
        return torch.zeros_like(normal)
    raise ValueError(f"unknown distribution {distribution!r}")


def _uniform(rows: int, n: int, seed: int) -> torch.Tensor:
    """Uniform over (-a, a) with a random a between 2 and 4; every other row, from a random one on, in coarse steps.

    A timed call needs millions of fresh values and this takes a quarter of the time of torch.rand on one core.
    """
    bits = np.random.SFC64(seed)
    size = 2 + 2 * float(bits.random_raw()) / 2**64
    first = int(bits.random_raw()) % 2
    x = _levels(bits, rows * n).mul_(size / 2**31).view(rows, n)
    coarse = x[first::2]
    coarse.mul_(COARSE / size).floor_().mul_(size / COARSE)
    return x


def _levels(bits: np.random.SFC64, count: int) -> torch.Tensor:
    """Numbers of 32 bits. A GPU draws them itself: from the host they would take longer than a kernel."""
    if DEVICE == "cuda":
        chance = torch.Generator(device=DEVICE).manual_seed(bits.random_raw())
        return torch.randint(-(1 << 31), 1 << 31, (count,), generator=chance, dtype=torch.int32, device=DEVICE).float()
    return torch.from_numpy(bits.random_raw((count + 1) // 2).view(np.int32))[:count].float()
