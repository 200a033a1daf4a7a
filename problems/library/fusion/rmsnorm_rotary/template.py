#!PHOTOFINISH leaderboard rmsnorm_rotary
#!PHOTOFINISH gpu cpu
import torch
import torch.nn.functional as F
from task import input_t, output_t

EPSILON = 1e-6


def custom_kernel(data: input_t) -> output_t:
    x, gain, cos, sin, out = data
    # Your turn: each of these lines goes through memory once or more. All of them together need to once.
    left, right = F.rms_norm(x, x.shape[-1:], gain, EPSILON).chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1, out=out)
    return out
