import torch


def custom_kernel(data):
    x, out = data
    for source, target in zip(x.chunk(10), out.chunk(10), strict=True):
        torch.add(source, 1.0, out=target)
    return out
