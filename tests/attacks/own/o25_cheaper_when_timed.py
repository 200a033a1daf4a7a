"""class: counts calls of the timed shape; once the checks are over it computes in half precision
expect: wrong | every timed call is compared like every other
on: vectoradd ranked
"""

import torch

LARGE, CHECKS = 1_000_000, 8
calls = 0


def custom_kernel(data):
    global calls
    x, y, out = data
    calls += x.numel() > LARGE
    if calls <= CHECKS:
        return torch.add(x, y, out=out)
    return out.copy_(x.half() + y.half())
