"""Inputs and expected output of layer norm. Runs in the oracle, never beside a submission."""

import numpy as np
import torch
from task import input_t, output_t

EPS = 1e-5
FAR = 8  # values of a large input that lie far out, in random places

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, rows: int, cols: int, seed: int, distribution: str = "uniform") -> input_t:
    """`out` is the output's place; it holds nothing yet."""
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    x = _uniform(rows, cols, seed) if distribution == "uniform" else _drawn(rows, cols, distribution, generator)
    weight = torch.rand(cols, generator=generator, device=DEVICE).add_(0.5)
    bias = torch.randn(cols, generator=generator, device=DEVICE)
    return x, weight, bias, torch.empty(rows, cols, dtype=torch.float32, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    x, weight, bias, out = data
    out.copy_(torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, EPS))
    return out


def _drawn(rows: int, cols: int, distribution: str, generator: torch.Generator) -> torch.Tensor:
    normal = torch.randn(rows, cols, generator=generator, device=DEVICE)
    if distribution == "normal":
        return normal
    if distribution == "offset":  # the mean is up to 64 deviations away: E[x²] - E[x]² cancels
        far = min(64, cols)  # the values of a short row may happen to be all but the same, and then honest code cancels
        return normal.add_(torch.rand(rows, 1, generator=generator, device=DEVICE).mul_(2 * far).sub_(far))
    if distribution == "wide":  # rows of a thousandth, whose variance is smaller than eps, to rows of sixteen
        return torch.ldexp(normal, torch.randint(-10, 5, (rows, 1), generator=generator, device=DEVICE))
    if distribution == "constant_rows":  # eighths: their sums are exact, so that eps magnifies no rounding
        eighths = torch.randint(-4, 5, (rows, 1), generator=generator, device=DEVICE)
        return (eighths / 8).expand(rows, cols).contiguous()
    if distribution == "zeros":
        return torch.zeros_like(normal)
    raise ValueError(f"unknown distribution {distribution!r}")


def _uniform(rows: int, cols: int, seed: int) -> torch.Tensor:
    """Uniform over (b - a, b + a) with random a between 1 and 2 and b between -1 and 1, in 65,536 steps.

    In a large one a few values lie far out: a row's mean and variance cannot be had from a part of it.

    A timed call needs millions of fresh values and this takes a quarter of the time of torch.rand on one core.
    """
    bits, count = np.random.SFC64(seed), rows * cols
    width, middle = (float(raw) / 2**64 for raw in bits.random_raw(2))
    values = _levels(bits, count).mul_((1 + width) / 2**15).add_(2 * middle - 1)
    if count > 1000 * FAR:
        values[torch.from_numpy((bits.random_raw(FAR) % count).astype(np.int64)).to(DEVICE)] += 128
    return values.view(rows, cols)


def _levels(bits: np.random.SFC64, count: int) -> torch.Tensor:
    """Steps from -32,768 to 32,767. A GPU draws them itself: from the host they would take longer than a kernel."""
    if DEVICE == "cuda":
        chance = torch.Generator(device=DEVICE).manual_seed(bits.random_raw())
        return torch.randint(-(1 << 15), 1 << 15, (count,), generator=chance, dtype=torch.int16, device=DEVICE).float()
    return torch.from_numpy(bits.random_raw((count + 3) // 4).view(np.int16))[:count].float()
