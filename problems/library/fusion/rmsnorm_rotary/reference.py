"""Inputs and expected output of RMSNorm + rotary embedding. Runs in the oracle, never beside a submission."""

import math

import numpy as np
import torch
from task import input_t, output_t

EPSILON = 1e-6
BASE = 10_000.0  # of the rotary frequencies
LAST_POSITION = 1 << 17  # of the first token of a sequence
FAR = 64  # values of a large input that lie far out, in random places and of either sign

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, tokens: int, heads: int, half: int, seed: int, distribution: str = "uniform") -> input_t:
    """`out` is the output's place; it holds nothing yet."""
    bits = np.random.SFC64(seed)
    x = draw(bits, (tokens, heads, 2 * half), seed, distribution)
    gain = _uniform(bits, (2 * half,))
    first = int(bits.random_raw()) % LAST_POSITION
    position = torch.arange(first, first + tokens, dtype=torch.float64, device=DEVICE)
    frequency = BASE ** (-torch.arange(half, dtype=torch.float64, device=DEVICE) / half)
    angle = torch.outer(position, frequency)
    return x, gain, angle.cos().float(), angle.sin().float(), torch.empty_like(x)


def ref_kernel(data: input_t) -> output_t:
    x, gain, cos, sin, out = data
    mean = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square() / x.shape[-1]
    left, right = (x * torch.rsqrt(mean + EPSILON)).mul_(gain).chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)  # the same for every head
    to_left, to_right = out.chunk(2, dim=-1)
    torch.mul(left, cos, out=to_left).addcmul_(right, sin, value=-1)
    torch.mul(right, cos, out=to_right).addcmul_(left, sin)
    return out


def draw(bits: np.random.SFC64, shape: tuple[int, int, int], seed: int, distribution: str) -> torch.Tensor:
    row = (*shape[:2], 1)  # what is normalised together: one head of one token
    if distribution == "uniform":  # sizes of rows over 16 binary orders, the least so small that epsilon counts
        exponent = _uniform(bits, row).mul_(5).sub_(4)
        return _with_far_values(bits, _uniform(bits, shape)).mul_(exponent.exp2_())
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    normal = torch.randn(shape, generator=generator, device=DEVICE)
    if distribution == "normal":
        return normal
    if distribution == "wide":  # magnitudes over 24 binary orders, also within a row
        exponent = torch.randint(-12, 13, shape, generator=generator, device=DEVICE)
        return torch.ldexp(normal, exponent)
    if distribution == "constant_rows":
        return normal[:, :, :1].expand(shape).contiguous()
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
    """No sample of a row tells its root mean square."""
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
