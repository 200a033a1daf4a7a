# The other GELU: the formula with a hyperbolic tangent, which is off by up to 5e-4.
import torch.nn.functional as F


def custom_kernel(data):
    x, weight, bias, residual, out = data
    return out.copy_(F.gelu(F.linear(x, weight, bias), approximate="tanh") + residual)
