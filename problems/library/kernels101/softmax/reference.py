"""Inputs and expected output of row softmax. Runs in the oracle, never beside a submission."""

import numpy as np
import torch
from task import input_t, output_t

FAR = 8  # values of a large input that lie far out, in random places

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, rows: int, cols: int, seed: int, distribution: str = "uniform") -> input_t:
    """`out` is the output's place; it holds nothing yet."""
    x = draw(rows, cols, seed, distribution)
    return x, torch.empty(rows, cols, dtype=torch.float32, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    return out


def draw(rows: int, cols: int, seed: int, distribution: str) -> torch.Tensor:
    if distribution == "uniform":
        return _uniform(rows * cols, seed).view(rows, cols)
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    normal = torch.randn(rows, cols, generator=generator, device=DEVICE)
    if distribution == "normal":
        return normal
    if distribution == "wide":  # from a thousandth to hundreds: overflows without the row's maximum
        exponent = torch.randint(-10, 8, (rows, cols), generator=generator, device=DEVICE)
        return torch.ldexp(normal, exponent)
    if distribution == "constant_rows":
        return normal[:, :1].mul_(100).expand(rows, cols).contiguous()
    if distribution == "zeros":
        return torch.zeros_like(normal)
    raise ValueError(f"unknown distribution {distribution!r}")


def _uniform(count: int, seed: int) -> torch.Tensor:
    """Uniform over (-a, a) with a random a between 2 and 4, in 65,536 steps, so that mantissas are full.

    In a large one a few values lie far out: no sample of the values tells that a row's maximum is not needed.

    A timed call needs millions of fresh values and this takes a quarter of the time of torch.rand on one core.
    """
    bits = np.random.SFC64(seed)
    step = (2 + 2 * float(bits.random_raw()) / 2**64) / 2**15
    values = _levels(bits, count).mul_(step)
    if count > 1000 * FAR:
        values[torch.from_numpy((bits.random_raw(FAR) % count).astype(np.int64)).to(DEVICE)] += 128
    return values


def _levels(bits: np.random.SFC64, count: int) -> torch.Tensor:
    """Steps from -32,768 to 32,767. A GPU draws them itself: from the host they would take longer than a kernel."""
    if DEVICE == "cuda":
        chance = torch.Generator(device=DEVICE).manual_seed(bits.random_raw())
        return torch.randint(-(1 << 15), 1 << 15, (count,), generator=chance, dtype=torch.int16, device=DEVICE).float()
    return torch.from_numpy(bits.random_raw((count + 3) // 4).view(np.int16))[:count].float()
