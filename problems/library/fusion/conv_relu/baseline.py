"""The tuned baseline: scale and bias folded into the convolution, whose result takes one more pass."""

import torch
import torch.nn.functional as F

torch.backends.cudnn.allow_tf32 = False


def custom_kernel(data):
    x, weight, bias, scale, out = data
    folded = F.conv2d(x, weight * scale.view(-1, 1, 1, 1), bias * scale, padding=1)
    return torch.clamp_min(folded, 0, out=out)
