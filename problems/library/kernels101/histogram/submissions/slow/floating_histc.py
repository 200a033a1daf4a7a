# Correct, and slow: turns the values into floating-point numbers and has torch.histc find the bin of each again.
#!PHOTOFINISH leaderboard histogram
import torch


def custom_kernel(data):
    values, counts = data
    bins = counts.numel()
    counts.copy_(torch.histc(values.double() + 0.5, bins=bins, min=0, max=bins))
    return counts
