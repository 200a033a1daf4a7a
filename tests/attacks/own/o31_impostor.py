"""class: the harness is replaced: a child that inherited the arena speaks the protocol, its parent waits
expect: contained | nothing rests on who answers; right bytes in time are right
"""

import os
import sys
import threading

import protocol
import torch

parent = os.getpid()
replaced = False


def serve(harness, seen):
    """The child's whole life: the same loop, with another clock."""
    harness.timer.time = lambda work, nonce: work() or 1
    torch.set_num_threads(1)
    protocol.write_page(harness.answers, seen, protocol.OK, 1, b"")
    harness.obey()


def custom_kernel(data):
    global replaced
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    if x.numel() > 50 and not replaced:
        replaced = True
        frame = sys._getframe(1)
        while "self" not in frame.f_locals or "seen" not in frame.f_locals:
            frame = frame.f_back
        if os.fork() == 0:
            serve(frame.f_locals["self"], frame.f_locals["seen"])
        threading.Event().wait()
    return out
