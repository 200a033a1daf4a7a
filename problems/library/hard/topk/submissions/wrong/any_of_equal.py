# torch.topk as it is: of equal values it takes any.
import torch


def custom_kernel(data):
    x, values, indices = data
    torch.topk(x, values.shape[1], dim=-1, out=(values, indices))
    return values, indices
