"""class: rank 1 raises an exception whose text steers terminals, while rank 0 waits for it
expect: rejected as runtime_error | text of every rank is capped and without control characters
on: benchmarks/gpu/ranks/all_to_all test
"""

import torch
import torch.distributed as dist


def custom_kernel(data):
    x, scale = data
    if dist.get_rank() and x.shape[1] > 8:
        raise RuntimeError("A" * (4 << 20) + "\x1b]0;owned\x07\x1b[2J\u202e\ud800")
    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    return y.mul_(scale)
