"""class: rank 1 answers with a right output, then ends while the judge freezes it; rank 0 stays
expect: rejected as runtime_error | the death of a rank after its first order is the code's own doing, never the host's
on: benchmarks/gpu/ranks/all_to_all test
"""

import os
import sys

import protocol
import torch
import torch.distributed as dist

calls = 0


def custom_kernel(data):
    global calls
    calls += 1
    x, scale = data
    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    y.mul_(scale)
    if calls > 3 and dist.get_rank():
        frame = sys._getframe(1)
        while "self" not in frame.f_locals or "seen" not in frame.f_locals:
            frame = frame.f_back
        frame.f_locals["self"].tensors[-1].copy_(y)
        protocol.write_page(frame.f_locals["self"].answers, frame.f_locals["seen"], protocol.OK, 0, b"")
        os._exit(0)
    return y
