"""class: tells the judge that 20 ms of work took a nanosecond, through the page on which the harness reports its time
expect: timed | the judge's own clock ranks
on: vectoradd ranked
cost_ms: 20"""

import sys
import time

import torch


def custom_kernel(data):
    x, y, out = data
    frame = sys._getframe(1)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    frame.f_locals["self"].timer.time = lambda work, nonce: work() or 1
    if x.numel() > 1_000_000:
        time.sleep(0.02)
    return torch.add(x, y, out=out)
