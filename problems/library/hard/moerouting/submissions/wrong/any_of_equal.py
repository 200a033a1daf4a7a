# torch.topk as it is: of equal logits it takes any.
import torch


def custom_kernel(data):
    logits, weights, chosen, order, offsets = data
    best = torch.topk(logits, weights.shape[1], dim=1)
    chosen.copy_(best.indices)
    weights.copy_(torch.softmax(best.values, dim=1))
    order.copy_(chosen.flatten().argsort(stable=True))
    offsets[0] = 0
    offsets[1:] = chosen.flatten().bincount(minlength=logits.shape[1]).cumsum(0)
    return weights, chosen, order, offsets
