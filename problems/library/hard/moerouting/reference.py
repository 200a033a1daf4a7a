"""Inputs and expected output of MoE routing. Runs in the oracle, never beside a submission."""

import math

import torch
from task import input_t, output_t

STEP = 1 / 64  # every fourth token's logits are multiples of it, so that some are equal
LIKED = 1.0  # how far experts differ in how often they are chosen

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(*, tokens: int, experts: int, k: int, seed: int, distribution: str = "normal") -> input_t:
    """All but `logits` are the outputs' places; they hold nothing yet. k is at most `experts`."""
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    logits = draw(tokens, experts, generator, distribution)
    return (
        logits,
        torch.empty(tokens, k, device=DEVICE),
        torch.empty(tokens, k, dtype=torch.int32, device=DEVICE),
        torch.empty(tokens * k, dtype=torch.int32, device=DEVICE),
        torch.empty(experts + 1, dtype=torch.int32, device=DEVICE),
    )


def ref_kernel(data: input_t) -> output_t:
    """torch.argmax gives the first of equal ones: the k largest one after the other."""
    logits, weights, chosen, order, offsets = data
    left, found = logits.clone(), []
    for _ in range(weights.shape[1]):
        found.append(left.argmax(dim=1, keepdim=True))
        left.scatter_(1, found[-1], -math.inf)
    experts = torch.cat(found, dim=1)
    chosen.copy_(experts)
    weights.copy_(torch.softmax(logits.gather(1, experts), dim=1))
    order.copy_(experts.flatten().argsort(stable=True))
    offsets[0] = 0
    offsets[1:] = experts.flatten().bincount(minlength=logits.shape[1]).cumsum(0)
    return weights, chosen, order, offsets


def draw(tokens: int, experts: int, generator: torch.Generator, distribution: str) -> torch.Tensor:
    normal = torch.randn(tokens, experts, generator=generator, device=DEVICE)
    if distribution == "normal":  # experts are not equally liked, and some logits are equal
        normal += torch.randn(experts, generator=generator, device=DEVICE) * LIKED
        coarse = normal[::4]
        coarse.div_(STEP).round_().mul_(STEP)
        return normal
    if distribution == "uniform":
        return normal.uniform_(-1, 1, generator=generator)
    if distribution == "few":  # four different logits: most are equal
        return torch.randint(-2, 2, (tokens, experts), generator=generator, device=DEVICE).float()
    if distribution == "wide":  # from a thousandth to hundreds, of both signs: exp overflows without the maximum
        exponent = torch.randint(-10, 8, (tokens, experts), generator=generator, device=DEVICE)
        return torch.ldexp(normal, exponent)
    if distribution == "shifted":  # a token's logits all near 200, or all near -200
        return normal + torch.where(normal[:, :1] > 0, 200, -200)
    if distribution == "crowded":  # everybody wants the same few experts, and most are left with nobody
        return normal - torch.arange(experts, device=DEVICE) * 4
    if distribution == "constant_rows":
        return normal[:, :1].expand(tokens, experts).contiguous()
    if distribution == "zeros":
        return torch.zeros_like(normal)
    raise ValueError(f"unknown distribution {distribution!r}")
