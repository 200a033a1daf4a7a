"""The tuned baseline: torch's own count of whole numbers."""

import torch


def custom_kernel(data):
    values, counts = data
    counts.copy_(torch.bincount(values, minlength=counts.numel()))
    return counts
