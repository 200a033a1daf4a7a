"""class: returns tensors that have the right type, shape and dtype and no memory of their own
expect: rejected | what is not in its slot is copied there with the clock running, and what cannot be copied is a failure"""

import torch


def custom_kernel(data):
    x, out = data
    if x.numel() < 1_000:
        return torch.softmax(x, dim=-1, out=out)
    return torch.empty_like(out, device="meta")
