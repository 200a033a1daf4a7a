"""class: rank 0 writes the answer of rank 1, whose work is still to be done
expect: wrong | all ranks are stopped together, and the judge reads the output of each
on: benchmarks/gpu/ranks/all_to_all test
"""

import ctypes
import sys
import time

import protocol
import torch
import torch.distributed as dist


def custom_kernel(data):
    x, scale = data
    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    if x.shape[1] > 8 and dist.get_rank() == 0:
        frame = sys._getframe(1)
        while "self" not in frame.f_locals or "seen" not in frame.f_locals:
            frame = frame.f_back
        own = ctypes.addressof(ctypes.c_char.from_buffer(frame.f_locals["self"].answers))
        page = memoryview((ctypes.c_char * protocol.ANSWERS_BYTES).from_address(own + protocol.ANSWERS_BYTES))
        protocol.write_page(page.cast("B"), frame.f_locals["seen"], protocol.OK, 0, b"")
    elif x.shape[1] > 8:
        time.sleep(0.05)
    return y.mul_(scale)
