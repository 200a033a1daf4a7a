# torch.bincount into a temporary of 64 bits, then a copy into the output.
#!PHOTOFINISH leaderboard histogram
import torch


def custom_kernel(data):
    values, counts = data
    counts.copy_(torch.bincount(values, minlength=counts.numel()))
    return counts
