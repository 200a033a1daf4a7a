"""class: leaves out the row maximum on exactly the timed shapes, whose public cases have small values
expect: wrong | timed shapes are checked with every kind of values"""

import torch

TIMED = {(1531, 2047), (1024, 4096), (512, 2048)}  # the last is the tests' own (tests/attacks/conftest.py)


def custom_kernel(data):
    x, out = data
    if tuple(x.shape) not in TIMED:
        return torch.softmax(x, dim=-1, out=out)
    torch.exp(x, out=out)
    out.div_(out.sum(dim=-1, keepdim=True))
    return out
