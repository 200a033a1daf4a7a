#!PHOTOFINISH leaderboard linear_gelu
#!PHOTOFINISH gpu cpu
import torch
import torch.nn.functional as F
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, residual, out = data
    # Your turn: let what the product leaves never reach memory before it is finished.
    activated = F.gelu(F.linear(x, weight, bias))
    torch.add(activated, residual, out=out)
    return out
