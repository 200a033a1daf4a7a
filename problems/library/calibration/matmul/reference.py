"""Inputs and expected output of a square matrix product in bfloat16."""

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, n: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    a, b = (torch.randn(n, n, generator=generator, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
    return a, b, torch.empty_like(a)


def ref_kernel(data: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> torch.Tensor:
    a, b, out = data
    return torch.mm(a, b, out=out)
