# torch.topk finds the k-th value; whatever reaches it is sorted, stably, and the first k are kept.
#!PHOTOFINISH leaderboard topk
#!PHOTOFINISH gpu cpu
import torch


def custom_kernel(data):
    x, values, indices = data
    rows, k = values.shape
    least = torch.topk(x, k, dim=-1, sorted=False).values.amin(dim=-1, keepdim=True)
    row, column = (x >= least).nonzero(as_tuple=True)
    order = x[row, column].argsort(descending=True, stable=True)
    order = order[row[order].argsort(stable=True)]
    row, column = row[order], column[order]
    start = torch.searchsorted(row, torch.arange(rows, device=x.device))
    indices.copy_(column[start[:, None] + torch.arange(k, device=x.device)])
    return torch.gather(x, 1, indices, out=values), indices
