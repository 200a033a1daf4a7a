"""Inputs and expected output of vector add. Runs in the oracle, never beside a submission."""

import numpy as np
import torch
from task import input_t, output_t

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, size: int, seed: int, distribution: str = "uniform") -> input_t:
    """`out` is the output's place; it holds nothing yet."""
    x = draw(size, 2 * seed, distribution)
    y = draw(size, 2 * seed + 1, distribution)
    return x, y, torch.empty(size, dtype=torch.float32, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    x, y, out = data
    torch.add(x, y, out=out)
    return out


def draw(size: int, seed: int, distribution: str) -> torch.Tensor:
    if distribution == "uniform":
        return _uniform(size, seed)
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    normal = torch.randn(size, generator=generator, device=DEVICE)
    if distribution == "normal":
        return normal
    if distribution == "wide":  # magnitudes over 24 binary orders
        exponent = torch.randint(-12, 13, (size,), generator=generator, device=DEVICE)
        return torch.ldexp(normal, exponent)
    if distribution == "constant_rows":  # one value all along
        return normal[:1].expand(size).contiguous()
    if distribution == "zeros":
        return torch.zeros_like(normal)
    raise ValueError(f"unknown distribution {distribution!r}")


def _uniform(size: int, seed: int) -> torch.Tensor:
    """Uniform over (-1, 1) in 65,536 steps of a random width, so that mantissas are full.

    A timed call needs millions of fresh values and this takes a quarter of the time of torch.rand on one core.
    """
    bits = np.random.SFC64(seed)
    step = (0.5 + 0.5 * float(bits.random_raw()) / 2**64) / 2**15
    return _levels(bits, size).mul_(step)


def _levels(bits: np.random.SFC64, count: int) -> torch.Tensor:
    """Steps from -32,768 to 32,767. A GPU draws them itself: from the host they would take longer than a kernel."""
    if DEVICE == "cuda":
        chance = torch.Generator(device=DEVICE).manual_seed(bits.random_raw())
        return torch.randint(-(1 << 15), 1 << 15, (count,), generator=chance, dtype=torch.int16, device=DEVICE).float()
    return torch.from_numpy(bits.random_raw((count + 3) // 4).view(np.int16))[:count].float()
