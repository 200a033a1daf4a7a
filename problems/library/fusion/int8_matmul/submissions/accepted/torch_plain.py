# All weights dequantised into memory, then one product.
#!PHOTOFINISH leaderboard int8_matmul
import torch


def custom_kernel(data):
    x, quantised, scale, zero, out = data
    inner = x.shape[1]
    offset = zero.float().repeat_interleave(64, dim=1)[:, :inner]
    weight = (quantised.float() - offset) * scale.repeat_interleave(64, dim=1)[:, :inner]
    return torch.mm(x, weight.t(), out=out)
