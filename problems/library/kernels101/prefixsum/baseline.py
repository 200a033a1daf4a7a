"""The tuned baseline: torch's scan, straight into the output."""

import torch


def custom_kernel(data):
    x, out = data
    torch.cumsum(x, dim=0, out=out)
    return out
