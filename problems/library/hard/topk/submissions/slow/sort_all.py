# Correct, and slow: sorts every row from end to end.
import torch


def custom_kernel(data):
    x, values, indices = data
    k = values.shape[1]
    largest = torch.sort(x, dim=-1, descending=True, stable=True)
    values.copy_(largest.values[:, :k])
    indices.copy_(largest.indices[:, :k])
    return values, indices
