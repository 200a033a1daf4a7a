# Correct, and slow: every row times the weights of every group, then one answer for each row is kept.
import torch


def custom_kernel(data):
    x, w, offsets, out = data
    rows = torch.arange(x.shape[0], device=x.device)
    group = torch.bucketize(rows, offsets[1:-1], right=True)
    return out.copy_((x @ w)[group, rows])
