"""Inputs and expected output of cross entropy. Runs in the oracle, never beside a submission."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from task import input_t, output_t

SMOOTHING = 0.1
IGNORED = -100
FAR = 64  # logits of a large input that lie far out, in random places

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, rows: int, vocab: int, seed: int, distribution: str = "uniform") -> input_t:
    """One row in eight, at random places, is to be ignored. `out` is the output's place; it holds nothing yet."""
    bits = np.random.SFC64(seed)
    logits = draw(bits, (rows, vocab), seed, distribution)
    targets = (bits.random_raw(rows) % vocab).astype(np.int64)
    targets[np.argsort(bits.random_raw(rows))[: rows // 8]] = IGNORED
    return logits, torch.from_numpy(targets).to(DEVICE), torch.empty(rows, dtype=torch.float32, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    logits, targets, out = data
    losses = F.cross_entropy(logits, targets, reduction="none", label_smoothing=SMOOTHING, ignore_index=IGNORED)
    return out.copy_(losses)


def draw(bits: np.random.SFC64, shape: tuple[int, int], seed: int, distribution: str) -> torch.Tensor:
    row = (shape[0], 1)
    if distribution == "uniform":  # rows with a spread and a middle of their own
        spread, middle = _uniform(bits, row).exp2_(), _uniform(bits, row).mul_(8)
        return _with_far_values(bits, _uniform(bits, shape).mul_(spread).add_(middle))
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    normal = torch.randn(shape, generator=generator, device=DEVICE)
    if distribution == "normal":
        return normal
    if distribution == "wide":  # up to 200 and more: overflows without the row's maximum
        exponent = torch.randint(-10, 7, shape, generator=generator, device=DEVICE)
        return torch.ldexp(normal, exponent)
    if distribution == "constant_rows":
        return normal[:, :1].mul_(10).expand(shape).contiguous()
    if distribution == "zeros":
        return torch.zeros_like(normal)
    raise ValueError(f"unknown distribution {distribution!r}")


def _uniform(bits: np.random.SFC64, shape: tuple[int, ...]) -> torch.Tensor:
    """Uniform over (-a, a) with a random a between 1.5 and 2, in 65,536 steps, so that mantissas are full.

    A timed call needs millions of fresh values and this takes a quarter of the time of torch.rand on one core.
    """
    count = math.prod(shape)
    step = (1.5 + 0.5 * float(bits.random_raw()) / 2**64) / 2**15
    return _levels(bits, count).mul_(step).view(shape)


def _with_far_values(bits: np.random.SFC64, values: torch.Tensor) -> torch.Tensor:
    """No sample of a row tells its maximum."""
    if values.numel() > 1000 * FAR:
        places = torch.from_numpy((bits.random_raw(FAR) % values.numel()).astype(np.int64)).to(DEVICE)
        values.view(-1)[places] += 24
    return values


def _levels(bits: np.random.SFC64, count: int) -> torch.Tensor:
    """Steps from -32,768 to 32,767. A GPU draws them itself: from the host they would take longer than a kernel."""
    if DEVICE == "cuda":
        chance = torch.Generator(device=DEVICE).manual_seed(bits.random_raw())
        return torch.randint(-(1 << 15), 1 << 15, (count,), generator=chance, dtype=torch.int16, device=DEVICE).float()
    return torch.from_numpy(bits.random_raw((count + 3) // 4).view(np.int16))[:count].float()
