"""class: returns a view with stride 0, or one that overlaps the input, for a whole matrix of results
expect: wrong | what counts are the bytes of the slot, after everything that was returned was copied there"""

import torch


def custom_kernel(data):
    x, out = data
    if x.numel() < 1_000:
        return torch.softmax(x, dim=-1, out=out)
    return torch.softmax(x[:1], dim=-1).expand(out.shape)
