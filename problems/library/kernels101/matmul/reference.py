"""Inputs and expected output of a matrix product. Runs in the oracle, never beside a submission.

`a` has entries of size 1 and `b` of size 1/√k, so that the product's are of size 1 whatever k is, and so is the
rounding that a tolerance must leave room for.
"""

import math

import numpy as np
import torch
from task import input_t, output_t

FAR = 8  # values of a large `a` that lie far out, in random places

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, m: int, k: int, n: int, seed: int, distribution: str = "uniform") -> input_t:
    """`out` is the output's place; it holds nothing yet."""
    a, b = _uniform(m, k, n, seed) if distribution == "uniform" else _drawn(m, k, n, seed, distribution)
    return a, b, torch.empty(m, n, dtype=torch.float32, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    a, b, out = data
    torch.mm(a, b, out=out)
    return out


def _drawn(m: int, k: int, n: int, seed: int, distribution: str) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    a = torch.randn(m, k, generator=generator, device=DEVICE)
    b = torch.randn(k, n, generator=generator, device=DEVICE).mul_(1 / math.sqrt(k))
    if distribution == "normal":
        return a, b
    if distribution == "positive":  # nothing cancels: sums grow to √k, and a bias in rounding shows
        return a.abs_(), b.abs_()
    if distribution == "wide":  # columns of a over twelve binary orders: few terms decide
        return torch.ldexp(a, torch.randint(-12, 1, (1, k), generator=generator, device=DEVICE)), b
    if distribution == "whole":  # small whole numbers over a power of two: every order of summation is exact
        scale = 2.0 ** -(k.bit_length() // 2)
        return a.round_(), torch.randint(-2, 3, (k, n), generator=generator, device=DEVICE).mul(scale)
    if distribution == "zeros":
        return a.zero_(), b.zero_()
    raise ValueError(f"unknown distribution {distribution!r}")


def _uniform(m: int, k: int, n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Uniform over (-w, w) with random w between 1 and 2, in 65,536 steps; b divided by √k.

    In a large `a` a few values lie far out: each is felt in a whole row of the product.
    """
    bits = np.random.SFC64(seed)
    widths = [1 + float(raw) / 2**64 for raw in bits.random_raw(2)]
    a, b = (
        _levels(bits, rows * cols).mul_(width / 2**15).view(rows, cols)
        for (rows, cols), width in zip(((m, k), (k, n)), widths, strict=True)
    )
    if m * k > 1000 * FAR:
        a.view(-1)[torch.from_numpy((bits.random_raw(FAR) % (m * k)).astype(np.int64)).to(DEVICE)] += 64
    return a, b.mul_(1 / math.sqrt(k))


def _levels(bits: np.random.SFC64, count: int) -> torch.Tensor:
    """Steps from -32,768 to 32,767. A GPU draws them itself: from the host they would take longer than a kernel."""
    if DEVICE == "cuda":
        chance = torch.Generator(device=DEVICE).manual_seed(bits.random_raw())
        return torch.randint(-(1 << 15), 1 << 15, (count,), generator=chance, dtype=torch.int16, device=DEVICE).float()
    return torch.from_numpy(bits.random_raw((count + 3) // 4).view(np.int16))[:count].float()
