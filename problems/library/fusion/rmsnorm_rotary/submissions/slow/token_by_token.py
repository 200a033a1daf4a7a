# Correct, and slow: a Python loop over tokens, with temporaries for each.
import torch
import torch.nn.functional as F


def custom_kernel(data):
    x, gain, cos, sin, out = data
    for token, c, s, target in zip(x, cos, sin, out, strict=True):
        left, right = F.rms_norm(token, token.shape[-1:], gain, 1e-6).chunk(2, dim=-1)
        target.copy_(torch.cat((left * c - right * s, right * c + left * s), dim=-1))
    return out
