# torch.mm straight into the output.
#!PHOTOFINISH leaderboard matmul
import torch


def custom_kernel(data):
    a, b, out = data
    torch.mm(a, b, out=out)
    return out
