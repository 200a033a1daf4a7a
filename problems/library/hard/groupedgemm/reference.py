"""Inputs and expected output of grouped GEMM. Runs in the oracle, never beside a submission."""

import math
from itertools import pairwise

import torch
from task import input_t, output_t

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(
    *, rows: int, groups: int, k: int, n: int, seed: int, split: str = "random", distribution: str = "normal"
) -> input_t:
    """`out` is the output's place; it holds nothing yet. Products are of size 1 where x is."""
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    x = draw(rows, k, generator, distribution)
    w = torch.randn(groups, k, n, generator=generator, device=DEVICE).mul_(1 / math.sqrt(k))
    offsets = torch.tensor([0, *cuts(rows, groups, generator, split), rows], device=DEVICE)
    return x, w, offsets, torch.empty(rows, n, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    x, w, offsets, out = data
    bounds = offsets.tolist()
    for group, (start, end) in enumerate(pairwise(bounds)):
        torch.matmul(x[start:end], w[group], out=out[start:end])
    return out


def cuts(rows: int, groups: int, generator: torch.Generator, split: str) -> list[int]:
    """Where a group ends and the next one starts: `groups - 1` places, rising."""
    if split == "random":  # some groups are large, some small, some empty
        places = torch.randint(0, rows + 1, (groups - 1,), generator=generator, device=DEVICE)
        return places.sort().values.tolist()
    if split == "even":
        return [rows * group // groups for group in range(1, groups)]
    if split == "one":  # all rows belong to one group
        chosen = int(torch.randint(0, groups, (), generator=generator, device=DEVICE))
        return [0] * chosen + [rows] * (groups - 1 - chosen)
    raise ValueError(f"unknown split {split!r}")


def draw(rows: int, k: int, generator: torch.Generator, distribution: str) -> torch.Tensor:
    normal = torch.randn(rows, k, generator=generator, device=DEVICE)
    if distribution == "normal":
        return normal
    if distribution == "uniform":  # all positive
        return normal.uniform_(0, 2, generator=generator)
    if distribution == "wide":  # elements from a thousandth to 8
        exponent = torch.randint(-10, 3, (rows, k), generator=generator, device=DEVICE)
        return torch.ldexp(normal, exponent)
    if distribution == "sparse":  # one element in eight
        return normal * (torch.rand(rows, k, generator=generator, device=DEVICE) < 1 / 8)
    if distribution == "constant_rows":
        return normal[:, :1].expand(rows, k).contiguous()
    if distribution == "zeros":
        return torch.zeros_like(normal)
    raise ValueError(f"unknown distribution {distribution!r}")
