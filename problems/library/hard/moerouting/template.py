#!PHOTOFINISH leaderboard moerouting
#!PHOTOFINISH gpu cpu
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    logits, weights, chosen, order, offsets = data
    # Your turn: choose, weigh, and sort the choices by expert. To sort all logits is too much.
    k = weights.shape[1]
    best = torch.sort(logits, dim=1, descending=True, stable=True)
    chosen.copy_(best.indices[:, :k])
    weights.copy_(torch.softmax(best.values[:, :k], dim=1))
    order.copy_(chosen.flatten().argsort(stable=True))
    offsets[0] = 0
    offsets[1:] = chosen.flatten().bincount(minlength=logits.shape[1]).cumsum(0)
    return weights, chosen, order, offsets
