#!PHOTOFINISH leaderboard int8_matmul
#!PHOTOFINISH gpu cpu
import torch
from task import GROUP, input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, quantised, scale, zero, out = data
    inner = x.shape[1]
    # Your turn: these weights are four times the size of those that came, and go through memory four times.
    offset = zero.float().repeat_interleave(GROUP, dim=1)[:, :inner]
    weight = (quantised.float() - offset) * scale.repeat_interleave(GROUP, dim=1)[:, :inner]
    return torch.mm(x, weight.t(), out=out)
