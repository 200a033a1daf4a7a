"""One number and its negative: a kernel with next to nothing to do."""

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    x = torch.randn(1, generator=generator, device=DEVICE)
    return x, torch.empty_like(x)


def ref_kernel(data: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    x, out = data
    return torch.neg(x, out=out)
