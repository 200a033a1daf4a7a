# torch.softmax straight into the output.
#!PHOTOFINISH leaderboard softmax
#!PHOTOFINISH gpu cpu
import torch


def custom_kernel(data):
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    return out
