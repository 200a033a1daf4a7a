"""class: answers for the harness, then ends the container while the judge freezes it
expect: rejected | the death of a container after its first order is its own doing, never the host's"""

import os
import sys

import protocol
import torch

calls = 0


def custom_kernel(data):
    global calls
    calls += 1
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    if calls > 3:
        frame = sys._getframe(1)
        while "self" not in frame.f_locals or "seen" not in frame.f_locals:
            frame = frame.f_back
        protocol.write_page(frame.f_locals["self"].answers, frame.f_locals["seen"], protocol.OK, 0, b"")
        os._exit(0)
    return out
