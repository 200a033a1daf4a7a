# Correct, and slow: a Python loop over columns, with temporaries for each.
import torch


def custom_kernel(data):
    x, quantised, scale, zero, out = data
    inner = x.shape[1]
    for col in range(quantised.shape[0]):
        offset = zero[col].float().repeat_interleave(64)[:inner]
        weight = (quantised[col].float() - offset) * scale[col].repeat_interleave(64)[:inner]
        out[:, col] = torch.mv(x, weight)
    return out
