"""An attack: the tenant's events report a tenth of the true time."""

import torch

real = torch.cuda.Event.elapsed_time
torch.cuda.Event.elapsed_time = lambda self, other: real(self, other) / 10


def custom_kernel(data):
    x, out = data
    return torch.add(x, 1.0, out=out)
