"""Inputs and expected output of the long polynomial. Runs in the oracle, never beside a submission.

The timed case has a hole, on purpose: its values have few enough levels that a table of them spares almost all of the
declared arithmetic. A kernel with this table is faster than any hardware that does the work, which the judge must see.
"""

import torch

LEVELS = 16
BLOCK = 32  # powers


def generate_input(*, size: int, degree: int, seed: int, distribution: str = "uniform"):
    generator = torch.Generator().manual_seed(seed)
    if distribution == "levels":
        x = torch.randint(-LEVELS // 2, LEVELS // 2, (size,), generator=generator).float().mul_(1.9 / LEVELS)
    else:
        x = torch.rand(size, generator=generator).mul_(1.9).sub_(0.95)
    return x, torch.randn(degree + 1, generator=generator), torch.empty(size)


def ref_kernel(data):
    """Sums over blocks of powers by one product of matrices, then Horner's scheme over the blocks: few calls, since the
    oracle works out an expected output for every call that is timed."""
    x, c, out = data
    factors = torch.nn.functional.pad(c.double(), (0, -len(c) % BLOCK)).view(-1, BLOCK).flip(0)
    base, powers = x.double(), torch.ones(BLOCK + 1, len(x), dtype=torch.float64)
    for power in range(1, BLOCK + 1):
        torch.mul(powers[power - 1], base, out=powers[power])
    value = torch.zeros_like(base)
    for column in (factors @ powers[:BLOCK]).unbind():
        torch.addcmul(column, value, powers[BLOCK], out=value)
    return out.copy_(value)
