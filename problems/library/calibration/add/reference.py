"""Input and expected output of `out = x + 1`."""

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    x = torch.randn(size, generator=generator, device=DEVICE)
    return x, torch.empty_like(x)


def ref_kernel(data: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    x, out = data
    return torch.add(x, 1.0, out=out)
