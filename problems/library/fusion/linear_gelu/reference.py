"""Inputs and expected output of linear + GELU + residual. Runs in the oracle, never beside a submission."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from task import input_t, output_t

FAR = 8  # values of a large input that lie far out, in random places and of either sign

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, rows: int, inner: int, cols: int, seed: int, distribution: str = "uniform") -> input_t:
    """What goes into the GELU is about 1 in size, whatever the shape. `out` is the output's place."""
    bits = np.random.SFC64(seed)
    x = draw(bits, (rows, inner), seed, distribution)
    weight = _uniform(bits, (cols, inner)).mul_(inner**-0.5)
    bias = _uniform(bits, (cols,))
    if distribution == "zeros":
        bias.zero_()
    residual = _uniform(bits, (rows, cols))
    return x, weight, bias, residual, torch.empty(rows, cols, dtype=torch.float32, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    x, weight, bias, residual, out = data
    torch.add(F.gelu(F.linear(x, weight, bias)), residual, out=out)
    return out


def draw(bits: np.random.SFC64, shape: tuple[int, int], seed: int, distribution: str) -> torch.Tensor:
    if distribution == "uniform":  # rows of a size of their own, from a half to two
        size = _uniform(bits, (shape[0], 1)).mul_(0.5).exp2_()
        return _with_far_values(bits, _uniform(bits, shape).mul_(size))
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    normal = torch.randn(shape, generator=generator, device=DEVICE)
    if distribution == "normal":
        return normal
    if distribution == "wide":  # magnitudes over 15 binary orders
        exponent = torch.randint(-12, 4, shape, generator=generator, device=DEVICE)
        return torch.ldexp(normal, exponent)
    if distribution == "constant_rows":
        return normal[:, :1].expand(shape).contiguous()
    if distribution == "zeros":  # and no bias either: what remains is the residual
        return torch.zeros_like(normal)
    raise ValueError(f"unknown distribution {distribution!r}")


def _uniform(bits: np.random.SFC64, shape: tuple[int, ...]) -> torch.Tensor:
    """Uniform over (-a, a) with a random a between 1.5 and 2, in 65,536 steps, so that mantissas are full.

    Fresh values for every timed call: this takes a quarter of the time of torch.rand on one core.
    """
    count = math.prod(shape)
    step = (1.5 + 0.5 * float(bits.random_raw()) / 2**64) / 2**15
    return _levels(bits, count).mul_(step).view(shape)


def _with_far_values(bits: np.random.SFC64, values: torch.Tensor) -> torch.Tensor:
    """No sample of the values tells their range."""
    if values.numel() > 1000 * FAR:
        places = torch.from_numpy((bits.random_raw(FAR) % values.numel()).astype(np.int64)).to(DEVICE)
        values.view(-1)[places] *= 32
    return values


def _levels(bits: np.random.SFC64, count: int) -> torch.Tensor:
    """Steps from -32,768 to 32,767. A GPU draws them itself: from the host they would take longer than a kernel."""
    if DEVICE == "cuda":
        chance = torch.Generator(device=DEVICE).manual_seed(bits.random_raw())
        return torch.randint(-(1 << 15), 1 << 15, (count,), generator=chance, dtype=torch.int16, device=DEVICE).float()
    return torch.from_numpy(bits.random_raw((count + 3) // 4).view(np.int16))[:count].float()
