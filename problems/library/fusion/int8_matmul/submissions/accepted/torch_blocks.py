# Some columns at a time are dequantised, into a buffer that stays in the cache.
#!PHOTOFINISH leaderboard int8_matmul
import torch

GROUP = 64
BLOCK = 1 << 17  # weights at a time


def custom_kernel(data):
    x, quantised, scale, zero, out = data
    cols, inner = quantised.shape
    some = cols if x.is_cuda else max(BLOCK // inner, 1)
    whole = inner // GROUP * GROUP
    offset = zero.float()
    buffer = torch.empty(min(some, cols), inner, dtype=torch.float32, device=x.device)
    for start in range(0, cols, some):
        part = slice(start, min(start + some, cols))
        weight = buffer[: part.stop - start].copy_(quantised[part])
        if whole:
            groups = weight[:, :whole].unflatten(1, (-1, GROUP))
            shared = slice(0, whole // GROUP)
            groups.sub_(offset[part, shared].unsqueeze(-1)).mul_(scale[part, shared].unsqueeze(-1))
        if whole < inner:
            weight[:, whole:].sub_(offset[part, -1:]).mul_(scale[part, -1:])
        torch.mm(x, weight.t(), out=out[:, part])
    return out
