"""class: changes every default of the process: dtype, device, threads, recursion, tracing, exit hooks, collectors, signals
expect: contained | the defaults are its own; what it gives back is right, and judged by bytes
"""

import atexit
import gc
import signal
import sys
import threading

import torch


class Undead:
    def __del__(self):
        Undead.last = Undead()


def custom_kernel(data):
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(7)
    sys.setswitchinterval(1e-6)
    sys.setrecursionlimit(50)
    sys.settrace(lambda *event: None)
    threading.setprofile(lambda *event: None)
    gc.set_threshold(1)
    gc.callbacks.append(lambda *event: None)
    atexit.register(print, "\x1b[2Jfarewell")
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCONT):
        signal.signal(number, signal.SIG_IGN)
    Undead()
    return out
