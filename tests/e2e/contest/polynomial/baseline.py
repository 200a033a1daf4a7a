"""The baseline: one pass over memory a degree, which leaves something to win for whoever keeps sums in registers."""

import torch


def custom_kernel(data):
    x, c, out = data
    out.fill_(c[-1])
    for factor in c[:-1].flip(0).unbind():
        torch.addcmul(factor, out, x, out=out)
    return out
