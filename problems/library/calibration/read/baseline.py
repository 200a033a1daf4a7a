"""The library's own sum."""

import torch


def custom_kernel(data):
    x, out = data
    return torch.sum(x, 0, keepdim=True, out=out)
