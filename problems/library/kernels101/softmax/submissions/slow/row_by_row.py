# Correct, and slow: a Python loop over rows, with a temporary for each.
import torch


def custom_kernel(data):
    x, out = data
    for row, target in zip(x, out, strict=True):
        target.copy_(torch.softmax(row, dim=-1))
    return out
