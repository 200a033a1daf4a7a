"""One kernel launch."""

import torch


def custom_kernel(data):
    x, out = data
    return torch.neg(x, out=out)
