"""class: rank 1 returns at once; a process of its own session finishes its output through the shared mapping
expect: wrong | a whole control group is stopped, whichever rank a process came from
on: benchmarks/gpu/ranks/all_to_all ranked
"""

import mmap
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

bell = mmap.mmap(-1, 4096)
arrived = mmap.mmap(-1, 1 << 25)  # of the host: this attack is one on `cpu`


def output():
    frame = sys._getframe(2)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["self"].tensors[-1]


def start_worker(out, y, scale):
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    torch.set_num_threads(1)
    seen = bell[0]
    while True:
        if bell[0] != seen:
            seen = bell[0]
            time.sleep(0.0003)
            out.copy_(y * scale)
        time.sleep(0.0001)


known = worker = None


def custom_kernel(data):
    global known, worker
    x, scale = data
    y = torch.frombuffer(arrived, dtype=x.dtype, count=x.numel()).view(x.shape)
    dist.all_to_all_single(y, x)
    if dist.get_rank() == 0:
        return y * scale
    if known != tuple(x.shape):
        if worker:
            os.kill(worker, signal.SIGKILL)
        known, worker = tuple(x.shape), start_worker(output(), y, scale)
        return y * scale
    bell[0] = (bell[0] + 1) % 256
    return output()
