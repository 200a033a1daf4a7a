"""The tuned baseline: the library's own product, straight into the output."""

import torch


def custom_kernel(data):
    a, b, out = data
    torch.mm(a, b, out=out)
    return out
