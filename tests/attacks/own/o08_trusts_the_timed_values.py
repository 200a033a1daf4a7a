"""class: leaves out the row maximum where a sample of the values looks like the tame ones that are timed
expect: wrong | the timed values hold a few far ones in random places, which a sample does not meet"""

import torch


def custom_kernel(data):
    x, out = data
    flat = x.flatten()
    sample = flat[:: max(len(flat) // 4096, 1)]
    if x.numel() < 1_000_000 or sample.abs().max() > 4:
        return torch.softmax(x, dim=-1, out=out)
    torch.exp(x, out=out)
    out.div_(out.sum(dim=-1, keepdim=True))
    return out
