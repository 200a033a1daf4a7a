"""The library's own product, on the units that `engine` names."""

import torch


def custom_kernel(data):
    a, b, out, engine = data
    if engine == "int8_tc":
        return torch._int_mm(a, b, out=out)
    torch.backends.cuda.matmul.allow_tf32 = engine == "tf32"
    return torch.mm(a, b, out=out)
