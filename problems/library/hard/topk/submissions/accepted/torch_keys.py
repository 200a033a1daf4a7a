# Value and place in one whole number of 64 bits: no two are equal, so any selection will do.
#!PHOTOFINISH leaderboard topk
import torch


def custom_kernel(data):
    x, values, indices = data
    n, k = x.shape[1], values.shape[1]
    bits = (x + 0.0).view(torch.int32)  # + 0.0: there is one zero
    rising = bits ^ ((bits >> 31) & 0x7FFFFFFF)  # negative floats fall with their bits
    keys = (rising.long() << 32) | torch.arange(n - 1, -1, -1, device=x.device)
    largest = torch.topk(keys, k, dim=-1).values
    torch.sub(n - 1, largest & 0xFFFFFFFF, out=indices)
    return torch.gather(x, 1, indices, out=values), indices
