# A pair is a complex number, and to rotate it one complex product. The inverse root is applied after the rotation.
#!PHOTOFINISH leaderboard rmsnorm_rotary
import torch


def custom_kernel(data):
    x, gain, cos, sin, out = data
    half = x.shape[-1] // 2
    scale = torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)
    gained = x * gain
    turned = torch.complex(gained[..., :half], gained[..., half:]) * torch.complex(cos, sin).unsqueeze(1)
    torch.mul(turned.real, scale, out=out[..., :half])
    torch.mul(turned.imag, scale, out=out[..., half:])
    return out
