"""Input and expected output of a sum: every element is read, one number is written."""

import numpy as np
import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    return positive(size, seed), torch.empty(1, device=DEVICE)


def ref_kernel(data: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    x, out = data
    return torch.sum(x, 0, keepdim=True, out=out)


def positive(size: int, seed: int) -> torch.Tensor:
    """Between 1 and 2, so that no digits cancel: random bits under the exponent of 1."""
    if DEVICE == "cuda":
        generator = torch.Generator(device=DEVICE).manual_seed(seed)
        return torch.rand(size, generator=generator, device=DEVICE).add_(1)
    bits = torch.from_numpy(np.random.SFC64(seed).random_raw((size + 1) // 2).view(np.int32))[:size]
    return bits.bitwise_and_(0x007FFFFF).bitwise_or_(0x3F800000).view(torch.float32)
