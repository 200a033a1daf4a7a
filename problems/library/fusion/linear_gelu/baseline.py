"""The tuned baseline: bias inside the matrix product, which goes straight into the output; two passes in place."""

import torch


def custom_kernel(data):
    x, weight, bias, residual, out = data
    torch.addmm(bias, x, weight.t(), out=out)
    torch.ops.aten.gelu_(out)
    return out.add_(residual)
