# Counts blocks of 262,144 values, which stay in the cache between the search for the largest and the count.
#!PHOTOFINISH leaderboard histogram
import torch

BLOCK = 1 << 18


def custom_kernel(data):
    values, counts = data
    counts.zero_()
    for block in values.split(BLOCK):
        counts += torch.bincount(block, minlength=counts.numel())
    return counts
