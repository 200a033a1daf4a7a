# Blocks of rows whose product is still in the cache when it is activated and added.
#!PHOTOFINISH leaderboard linear_gelu
import torch

BLOCK_ROWS = 64


def custom_kernel(data):
    x, weight, bias, residual, out = data
    blocks = zip(*(tensor.split(BLOCK_ROWS) for tensor in (x, residual, out)), strict=True)
    for some, added, target in blocks:
        torch.addmm(bias, some, weight.t(), out=target)
        torch.ops.aten.gelu_(target)
        target.add_(added)
    return out
