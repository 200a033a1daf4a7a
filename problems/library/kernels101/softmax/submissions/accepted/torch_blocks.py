# Row blocks that stay in the cache: maximum, difference, exponential, sum and quotient as separate torch calls.
#!PHOTOFINISH leaderboard softmax
import torch

BLOCK_ROWS = 16


def custom_kernel(data):
    x, out = data
    for source, target in zip(x.split(BLOCK_ROWS), out.split(BLOCK_ROWS), strict=True):
        torch.sub(source, source.amax(dim=-1, keepdim=True), out=target)
        target.exp_()
        target.div_(target.sum(dim=-1, keepdim=True))
    return out
