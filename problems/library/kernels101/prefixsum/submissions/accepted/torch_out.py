# torch.cumsum straight into the output.
#!PHOTOFINISH leaderboard prefixsum
import torch


def custom_kernel(data):
    x, out = data
    torch.cumsum(x, dim=0, out=out)
    return out
