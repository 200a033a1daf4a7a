import torch


def custom_kernel(data):
    a, b, out = data
    return torch.mm(a, b, out=out)
