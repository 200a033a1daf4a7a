"""The tuned baseline: one product of the library for each group that has rows, straight into its place."""

from itertools import pairwise

import torch


def custom_kernel(data):
    x, w, offsets, out = data
    bounds = offsets.tolist()
    for group, (start, end) in enumerate(pairwise(bounds)):
        if start < end:
            torch.mm(x[start:end], w[group], out=out[start:end])
    return out
