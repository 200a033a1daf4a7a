# torch's layer norm into a temporary, then a copy into the output.
#!PHOTOFINISH leaderboard layernorm
import torch


def custom_kernel(data):
    x, weight, bias, out = data
    out.copy_(torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5))
    return out
