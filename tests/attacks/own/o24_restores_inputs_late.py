"""class: uses its input as scratch and has a thread put it back after the return
expect: rejected | the inputs are compared with the whole container stopped
"""

import threading
import time

import torch


def restore(x, kept):
    time.sleep(0.001)
    x.copy_(kept)


def custom_kernel(data):
    x, out = data
    kept = x.clone()
    torch.softmax(x, dim=-1, out=out)
    if x.numel() > 1_000:
        x.zero_()
        threading.Thread(target=restore, args=(x, kept), daemon=True).start()
    return out
