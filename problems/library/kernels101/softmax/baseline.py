"""The tuned baseline: torch's fused row softmax, straight into the output."""

import torch


def custom_kernel(data):
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    return out
