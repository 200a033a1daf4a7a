#!PHOTOFINISH leaderboard histogram
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    values, counts = data
    # Your turn: write into counts[b] how many values are b.
    counts.copy_(torch.bincount(values, minlength=counts.numel()))
    return counts
