"""class: tells about a secret case by the way it dies: an exit status, a signal, a status that carries six bits
expect: rejected | no text and no exit status of a secret case is shown; seeds are fresh, so a few bits are worth nothing
"""

import os

import torch

calls = 0


def custom_kernel(data):
    global calls
    calls += 1
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    if calls > 6:  # the public cases are over
        print(f"LEAK {x.flatten()[0].item()}", flush=True)
        os._exit(int(x.numel()) % 64 + 64)
    return out
