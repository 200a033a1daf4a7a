import torch


def custom_kernel(data):
    x, out = data
    return torch.add(x, 1.0, out=out)
