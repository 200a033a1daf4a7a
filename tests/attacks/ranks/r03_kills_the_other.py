"""class: rank 0 kills rank 1 in the middle of the calls, and answers for it
expect: rejected | a container ends with any of its ranks, and until then a dead rank's output is poison
on: benchmarks/gpu/ranks/all_to_all test
"""

import ctypes
import os
import signal
import sys

import protocol
import torch
import torch.distributed as dist

calls = 0
pids = [None, None]


def custom_kernel(data):
    global calls
    calls += 1
    x, scale = data
    if calls == 1:
        dist.all_gather_object(pids, os.getpid())
    if calls > 3:
        if dist.get_rank():
            signal.pause()
        os.kill(pids[1], signal.SIGKILL)
        frame = sys._getframe(1)
        while "self" not in frame.f_locals or "seen" not in frame.f_locals:
            frame = frame.f_back
        own = ctypes.addressof(ctypes.c_char.from_buffer(frame.f_locals["self"].answers))
        page = memoryview((ctypes.c_char * protocol.ANSWERS_BYTES).from_address(own + protocol.ANSWERS_BYTES))
        protocol.write_page(page.cast("B"), frame.f_locals["seen"], protocol.OK, 0, b"")
        return x * scale
    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    return y.mul_(scale)
