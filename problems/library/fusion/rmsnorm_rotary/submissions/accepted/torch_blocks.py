# Blocks of tokens that stay in the cache: the norm into a buffer, the rotation from there into the output.
#!PHOTOFINISH leaderboard rmsnorm_rotary
import torch

BLOCK = 1 << 15  # elements


def custom_kernel(data):
    x, gain, cos, sin, out = data
    tokens, heads, width = x.shape
    half, some = width // 2, max(BLOCK // (heads * width), 1)
    for start in range(0, tokens, some):
        part = slice(start, start + some)
        scale = x[part].square().mean(-1, keepdim=True).add_(1e-6).rsqrt_()
        left, right = (x[part] * scale).mul_(gain).chunk(2, dim=-1)
        c, s = cos[part].unsqueeze(1), sin[part].unsqueeze(1)
        torch.mul(left, c, out=out[part, :, :half]).addcmul_(right, s, value=-1)
        torch.mul(right, c, out=out[part, :, half:]).addcmul_(left, s)
    return out
