# One product for each group that has rows, straight into its place.
#!PHOTOFINISH leaderboard groupedgemm
#!PHOTOFINISH gpu cpu
import torch


def custom_kernel(data):
    x, w, offsets, out = data
    bounds = offsets.tolist()
    for group, (start, end) in enumerate(zip(bounds, bounds[1:], strict=False)):
        if start < end:
            torch.mm(x[start:end], w[group], out=out[start:end])
    return out
