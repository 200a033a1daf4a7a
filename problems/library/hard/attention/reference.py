"""Inputs and expected output of attention. Runs in the oracle, never beside a submission."""

import math

import torch
from task import input_t, output_t

FAR = 4  # keys of a large input that some query cannot take its eyes off, in random places
LARGE = 1 << 16  # elements from which on an input is large
PULL, PUSH = 30.0, 4.0  # lengths of such a key and, in its own, of the query: a logit of about 120

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def generate_input(
    *, batch: int, heads: int, seq: int, dim: int, causal: bool, seed: int, distribution: str = "normal"
) -> input_t:
    """`out` is the output's place; it holds nothing yet."""
    generator = torch.Generator(device=DEVICE).manual_seed(seed)
    q, k, v = draw((batch, heads, seq, dim), generator, distribution)
    return q, k, v, torch.empty_like(q), causal


def ref_kernel(data: input_t) -> output_t:
    q, k, v, out, causal = data
    logits = (q @ k.mT).mul_(1 / math.sqrt(q.shape[-1]))
    if causal:
        seq = q.shape[-2]
        later = torch.ones(seq, seq, dtype=torch.bool, device=q.device).triu_(1)
        logits.masked_fill_(later, -math.inf)
    torch.matmul(torch.softmax(logits, dim=-1), v, out=out)
    return out


def draw(shape: tuple[int, int, int, int], generator: torch.Generator, distribution: str) -> tuple[torch.Tensor, ...]:
    q, k, v = torch.randn((3, *shape), generator=generator, device=DEVICE)
    if distribution == "normal":
        if q.numel() >= LARGE:
            _attract(q, k, generator)
        return q, k, v
    if distribution == "uniform":  # all of one sign: logits are large and alike
        return q.abs_(), k.abs_(), v
    if distribution == "wide":  # logits of tens: nearly a maximum
        return q.mul_(3), k.mul_(2), v
    if distribution == "lookup":  # every query has a key to itself, with a logit of about 120: overflow
        order = torch.randperm(shape[2], generator=generator, device=DEVICE)
        k = q[..., order, :] * (PULL / q[..., order, :].norm(dim=-1, keepdim=True))
        return q.mul_(PUSH), k, v
    if distribution == "constant_rows":  # every key is the same: a mean of the values, with logits up to hundreds
        return q, k[..., :1, :].mul(60).expand(shape).contiguous(), v
    if distribution == "zeros":
        return q.zero_(), k, v
    raise ValueError(f"unknown distribution {distribution!r}")


def _attract(q: torch.Tensor, k: torch.Tensor, generator: torch.Generator) -> None:
    """A few keys that are multiples of some query, anywhere: no window and no bound on the logits is safe."""
    batch, heads, seq, _ = q.shape
    places = torch.randint(0, batch * heads * seq * seq, (FAR,), generator=generator, device=DEVICE)
    for place in places.tolist():
        head, pair = divmod(place, seq * seq)
        i, j = divmod(pair, seq)
        query = q.view(batch * heads, seq, -1)[head, i]
        k.view(batch * heads, seq, -1)[head, j] = query * (PULL / query.norm())
        query *= PUSH
