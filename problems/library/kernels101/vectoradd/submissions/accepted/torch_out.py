# torch.add straight into the output: one pass, no temporary.
#!PHOTOFINISH leaderboard vectoradd
#!PHOTOFINISH gpu cpu
import torch


def custom_kernel(data):
    x, y, out = data
    torch.add(x, y, out=out)
    return out
