# k times the maximum of every token, which torch gives with the first place where it stands.
#!PHOTOFINISH leaderboard moerouting
#!PHOTOFINISH gpu cpu
import torch


def custom_kernel(data):
    logits, weights, chosen, order, offsets = data
    left = logits.clone()
    for j in range(weights.shape[1]):
        best = left.max(dim=1)
        weights[:, j] = best.values
        chosen[:, j] = best.indices
        left.scatter_(1, best.indices[:, None], -torch.inf)
    weights.copy_(torch.softmax(weights, dim=1))
    slots = chosen.flatten()
    order.copy_(slots.argsort(stable=True))
    torch.searchsorted(slots[order], torch.arange(logits.shape[1] + 1, dtype=torch.int32), out_int32=True, out=offsets)
    return weights, chosen, order, offsets
