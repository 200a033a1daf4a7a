import torch


def custom_kernel(data):
    x, y, out = data
    # Your turn: write x + y into out.
    torch.add(x, y, out=out)
    return out
