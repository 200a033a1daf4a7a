# Row blocks that stay in the cache: mean, deviations, variance, scale and shift as separate torch calls.
#!PHOTOFINISH leaderboard layernorm
import torch

BLOCK_ROWS = 16


def custom_kernel(data):
    x, weight, bias, out = data
    for source, target in zip(x.split(BLOCK_ROWS), out.split(BLOCK_ROWS), strict=True):
        torch.sub(source, source.mean(dim=-1, keepdim=True), out=target)
        variance = target.square().mean(dim=-1, keepdim=True)
        target.mul_(variance.add_(1e-5).rsqrt_()).mul_(weight).add_(bias)
    return out
