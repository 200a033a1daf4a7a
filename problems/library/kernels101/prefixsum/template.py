#!PHOTOFINISH leaderboard prefixsum
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, out = data
    # Your turn: write into out[i] the sum of x[0] to x[i].
    torch.cumsum(x, dim=0, out=out)
    return out
