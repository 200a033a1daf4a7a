# Normalises without epsilon: not a number for rows of zeros, too large for rows of tiny values.
import torch


def custom_kernel(data):
    x, gain, cos, sin, out = data
    left, right = (x * torch.rsqrt(x.square().mean(-1, keepdim=True)) * gain).chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    torch.cat((left * cos - right * sin, right * cos + left * sin), dim=-1, out=out)
    return out
