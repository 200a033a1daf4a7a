# torch.softmax into a temporary, then a copy into the output.
#!PHOTOFINISH leaderboard softmax
import torch


def custom_kernel(data):
    x, out = data
    out.copy_(torch.softmax(x, dim=-1))
    return out
