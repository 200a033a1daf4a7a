#!PHOTOFINISH leaderboard layernorm
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, weight, bias, out = data
    # Your turn: write the layer norm of every row of x into out.
    out.copy_(torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5))
    return out
