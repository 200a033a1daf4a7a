import torch
import torch.distributed as dist


def custom_kernel(data):
    x, scale = data
    y = torch.empty_like(x)
    if dist.get_rank() == 0:  # rank 1 waits for it
        dist.all_to_all_single(y, x)
        torch.cuda.synchronize() if x.is_cuda else None
    return y * scale
