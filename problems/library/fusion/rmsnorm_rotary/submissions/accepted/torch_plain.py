# torch's RMSNorm, then the rotation with a temporary for each operation.
#!PHOTOFINISH leaderboard rmsnorm_rotary
import torch
import torch.nn.functional as F


def custom_kernel(data):
    x, gain, cos, sin, out = data
    left, right = F.rms_norm(x, x.shape[-1:], gain, 1e-6).chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1, out=out)
    return out
