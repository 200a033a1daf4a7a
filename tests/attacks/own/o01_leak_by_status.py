"""class: forges a build error in a secret call, with the case's data as its text
expect: rejected | a status belongs to its order; what a tenant says of a secret case reaches nobody"""

import sys

import protocol
import torch

calls = 0


def custom_kernel(data):
    global calls
    calls += 1
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    if calls > 6:  # the public cases are over
        frame = sys._getframe(1)
        while "self" not in frame.f_locals or "seen" not in frame.f_locals:
            frame = frame.f_back
        told = f"LEAK {tuple(x.shape)} {x.flatten()[:64].tolist()}"
        protocol.write_page(frame.f_locals["self"].answers, frame.f_locals["seen"], protocol.IMPORT, 0, told.encode())
        while True:
            pass
    return out
