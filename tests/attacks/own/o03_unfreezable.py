"""class: sits in a long system call when the judge freezes it, to turn a wrong answer into somebody else's fault
expect: rejected | a container that cannot be stopped breaks the rules, it is no failure of the sandbox"""

import ctypes
import threading
import time

import torch

READ, PRIVATE_ANONYMOUS_NORESERVE, HUGE, POPULATE = 1, 0x22 | 0x4000, 15, 22
SIZE = 600 << 30


def populate():
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    memory = libc.mmap(None, SIZE, READ, PRIVATE_ANONYMOUS_NORESERVE, -1, 0)
    libc.madvise(memory, SIZE, HUGE)
    libc.madvise(memory, SIZE, POPULATE)


def custom_kernel(data):
    x, out = data
    if out.numel() < 1_000_000:
        return torch.softmax(x, dim=-1, out=out)
    threading.Thread(target=populate, daemon=True).start()
    time.sleep(0.02)
    return out
