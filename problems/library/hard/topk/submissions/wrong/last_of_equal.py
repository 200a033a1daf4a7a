# Selects from the reversed row: of equal values the last one comes first.
import torch


def custom_kernel(data):
    x, values, indices = data
    k = values.shape[1]
    largest = torch.sort(x.flip(1), dim=-1, descending=True, stable=True)
    values.copy_(largest.values[:, :k])
    torch.sub(x.shape[1] - 1, largest.indices[:, :k], out=indices)
    return values, indices
