# Correct, and slow: a product of a matrix and a vector for every row, so the weights are read once a row.
import torch
import torch.nn.functional as F


def custom_kernel(data):
    x, weight, bias, residual, out = data
    for row, added, target in zip(x, residual, out, strict=True):
        torch.add(F.gelu(torch.addmv(bias, weight, row)), added, out=target)
    return out
