"""Inputs and expected output of a prefix sum. Runs in the oracle, never beside a submission.

Values are scaled so that the sums are of size 1 however many there are, and so is the rounding that a tolerance must
leave room for.
"""

import math

import numpy as np
import torch
from task import input_t, output_t

FAR = 8  # values of a large input that lie far out, in random places

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, size: int, seed: int, distribution: str = "uniform") -> input_t:
    """`out` is the output's place; it holds nothing yet."""
    return draw(size, seed, distribution), torch.empty(size, dtype=torch.float32, device=DEVICE)


def ref_kernel(data: input_t) -> output_t:
    """On a cpu torch adds up in double precision."""
    x, out = data
    torch.cumsum(x, dim=0, out=out)
    return out


def draw(size: int, seed: int, distribution: str) -> torch.Tensor:
    if distribution == "uniform":
        return _uniform(size, seed)
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    normal = torch.randn(size, generator=generator, device=DEVICE)
    if distribution == "normal":
        return normal.mul_(1 / math.sqrt(size))
    if distribution == "positive":  # sums only grow: rounding always goes to the same side for a while
        return normal.abs_().mul_(2 / size)
    if distribution == "returning":  # sums that keep coming back to 1 in small steps: what is lost stays lost
        steps = normal.diff(prepend=normal.new_zeros(1)).mul_(1 / math.sqrt(size))
        steps[0] += 1
        return steps
    if distribution == "constant":  # few bits, so that sums of up to 2^20 of them are exact
        return normal.fill_(float(1 + seed % 7) / 2 ** size.bit_length())
    if distribution == "zeros":
        return normal.zero_()
    raise ValueError(f"unknown distribution {distribution!r}")


def _uniform(size: int, seed: int) -> torch.Tensor:
    """Uniform in 65,536 steps around a random drift, so that the sums wander and end anywhere between -4 and 4.

    In a large one a few values lie far out: each moves every sum behind it.

    A timed call needs millions of fresh values and this takes a quarter of the time of torch.rand on one core.
    """
    bits = np.random.SFC64(seed)
    width, drift = (float(raw) / 2**64 for raw in bits.random_raw(2))
    values = _levels(bits, size).mul_((1 + width) / math.sqrt(size) / 2**15).add_((4 * drift - 2) / size)
    if size > 1000 * FAR:
        places = torch.from_numpy((bits.random_raw(FAR) % size).astype(np.int64)).to(DEVICE)
        values[places] += torch.tensor([0.5, -0.5], device=DEVICE).repeat(FAR // 2)
    return values


def _levels(bits: np.random.SFC64, count: int) -> torch.Tensor:
    """Steps from -32,768 to 32,767. A GPU draws them itself: from the host they would take longer than a kernel."""
    if DEVICE == "cuda":
        chance = torch.Generator(device=DEVICE).manual_seed(bits.random_raw())
        return torch.randint(-(1 << 15), 1 << 15, (count,), generator=chance, dtype=torch.int16, device=DEVICE).float()
    return torch.from_numpy(bits.random_raw((count + 3) // 4).view(np.int16))[:count].float()
