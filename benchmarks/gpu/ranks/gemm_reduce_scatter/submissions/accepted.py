import torch
import torch.distributed as dist


def custom_kernel(data):
    """Multiply and exchange in halves: the second half is multiplied while the first travels."""
    a, b = data
    ranks = dist.get_world_size()
    rows = torch.empty(a.shape[0] // ranks, b.shape[0], dtype=a.dtype, device=a.device)
    half = rows.shape[0] // 2
    blocks = a.view(ranks, rows.shape[0], -1)
    pending = []
    for part in (slice(0, half), slice(half, rows.shape[0])):
        product = (blocks[:, part].reshape(-1, a.shape[1]) @ b.T).contiguous()
        pending.append((dist.reduce_scatter_tensor(rows[part], product, async_op=True), product))
    for work, _ in pending:
        work.wait()
    return rows
