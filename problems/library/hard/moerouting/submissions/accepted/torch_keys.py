# Value and place in one whole number of 64 bits: no two are equal, so torch.topk will do.
#!PHOTOFINISH leaderboard moerouting
import torch


def custom_kernel(data):
    logits, weights, chosen, order, offsets = data
    experts, k = logits.shape[1], weights.shape[1]
    bits = (logits + 0.0).view(torch.int32)  # + 0.0: there is one zero
    rising = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # negative floats fall with their bits
    keys = (rising.long() << 32) | torch.arange(experts - 1, -1, -1, device=logits.device)
    found = experts - 1 - (torch.topk(keys, k, dim=1).values & 0xFFFFFFFF)
    chosen.copy_(found)
    torch.softmax(logits.gather(1, found), dim=1, out=weights)
    order.copy_(chosen.flatten().argsort(stable=True))
    offsets[0] = 0
    offsets[1:] = chosen.flatten().bincount(minlength=experts).cumsum(0)
    return weights, chosen, order, offsets
