import torch


@torch.compile
def add(x):
    return x + 1.0


def custom_kernel(data):
    x, out = data
    return out.copy_(add(x))
