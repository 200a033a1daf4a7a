import torch
import torch.distributed as dist


def custom_kernel(data):
    x, scale = data
    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    return y.mul_(scale)
