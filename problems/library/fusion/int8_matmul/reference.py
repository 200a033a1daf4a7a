"""Inputs and expected output of int8 dequantise + matmul. Runs in the oracle, never beside a submission."""

import math

import numpy as np
import torch
from task import GROUP, input_t, output_t

FAR = 8  # values of a large input that lie far out, in random places and of either sign
USUAL = 74.0  # root mean square of a signed byte

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, rows: int, inner: int, cols: int, seed: int, distribution: str = "uniform") -> input_t:
    """Outputs are about 1 in size, whatever the shape. `out` is the output's place; it holds nothing yet."""
    bits = np.random.SFC64(seed)
    groups = math.ceil(inner / GROUP)
    x = draw(bits, (rows, inner), seed, distribution)
    scale = _uniform(bits, (cols, groups)).exp2_().mul_(1 / (USUAL * inner**0.5))
    zero = _bytes(bits, (cols, groups)) >> 3
    out = torch.empty(rows, cols, dtype=torch.float32, device=DEVICE)
    return x, _bytes(bits, (cols, inner)), scale, zero, out


def ref_kernel(data: input_t) -> output_t:
    x, quantised, scale, zero, out = data
    inner = x.shape[1]
    weight = (quantised.to(x.dtype) - _each(zero, inner).to(x.dtype)).mul_(_each(scale, inner))
    torch.matmul(x, weight.t(), out=out)
    return out


def _each(of_groups: torch.Tensor, inner: int) -> torch.Tensor:
    """What a group shares, for each of its values; the last group may be shorter."""
    return of_groups.unsqueeze(-1).expand(*of_groups.shape, GROUP).flatten(1)[:, :inner]


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
    if distribution == "zeros":
        return torch.zeros_like(normal)
    raise ValueError(f"unknown distribution {distribution!r}")


def _bytes(bits: np.random.SFC64, shape: tuple[int, int]) -> torch.Tensor:
    """Every signed byte is equally likely."""
    count = math.prod(shape)
    if DEVICE == "cuda":
        chance = torch.Generator(device=DEVICE).manual_seed(bits.random_raw())
        return torch.randint(-128, 128, shape, generator=chance, dtype=torch.int8, device=DEVICE)
    return torch.from_numpy(bits.random_raw((count + 7) // 8).view(np.int8))[:count].view(shape)


def _uniform(bits: np.random.SFC64, shape: tuple[int, ...]) -> torch.Tensor:
    """Uniform over (-a, a) with a random a between 1.5 and 2, in 65,536 steps, so that mantissas are full."""
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
