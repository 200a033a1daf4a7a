"""class: every thread it may have sleeps with a timeout of its own, so that timers go off while the baseline runs
expect: contained | one timer a thread and as many threads as processes are allowed: some hundred interrupts, once
"""

import random
import threading
import time

import torch


def doze():
    while True:
        time.sleep(random.random() / 5)


for _ in range(110):
    threading.Thread(target=doze, daemon=True).start()


def custom_kernel(data):
    x, out = data
    return torch.softmax(x, dim=-1, out=out)
