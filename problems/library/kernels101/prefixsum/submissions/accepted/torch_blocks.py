# Rows of 4,096 elements are scanned by themselves, then what lies before each is added: two passes over the output.
#!PHOTOFINISH leaderboard prefixsum
import torch

BLOCK = 4096


def custom_kernel(data):
    x, out = data
    whole = x.numel() // BLOCK * BLOCK
    rows, scanned = x[:whole].view(-1, BLOCK), out[:whole].view(-1, BLOCK)
    torch.cumsum(rows, dim=1, out=scanned)
    sums = scanned[:, -1].cumsum(dim=0, dtype=torch.float64)
    scanned[1:] += sums[:-1, None].float()
    torch.cumsum(x[whole:], dim=0, out=out[whole:])
    if whole < x.numel() and whole:
        out[whole:] += sums[-1].float()
    return out
