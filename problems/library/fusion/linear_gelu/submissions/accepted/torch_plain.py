# The formula as it is written: a temporary for each operation.
#!PHOTOFINISH leaderboard linear_gelu
import torch.nn.functional as F


def custom_kernel(data):
    x, weight, bias, residual, out = data
    return out.copy_(F.gelu(F.linear(x, weight, bias)) + residual)
