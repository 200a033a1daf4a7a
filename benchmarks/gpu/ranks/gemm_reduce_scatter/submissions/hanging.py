import torch
import torch.distributed as dist


def custom_kernel(data):
    a, b = data
    whole = a @ b.T
    rows = torch.empty(a.shape[0] // dist.get_world_size(), b.shape[0], dtype=a.dtype, device=a.device)
    if dist.get_rank() == 1:
        while True:  # rank 0 waits for it
            pass
    dist.reduce_scatter_tensor(rows, whole)
    return rows
