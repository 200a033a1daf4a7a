"""The tuned baseline: torch's fused layer norm over blocks of rows, whose temporaries stay in the cache."""

import torch

BLOCK_ELEMENTS = 1 << 16


def custom_kernel(data):
    x, weight, bias, out = data
    if x.is_cuda:
        return out.copy_(torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, 1e-5))
    rows = max(1, BLOCK_ELEMENTS // x.shape[-1])
    for source, target in zip(x.split(rows), out.split(rows), strict=True):
        target.copy_(torch.native_layer_norm(source, x.shape[-1:], weight, bias, 1e-5)[0])
    return out
