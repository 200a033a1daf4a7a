"""class: answers before it is asked, with old nonces, small ones and neighbours of the last, and never does the work
expect: rejected | a nonce has 64 random bits and is told only with the order"""

import sys
import threading

import protocol
import torch

calls = 0


def guess(answers, seen):
    while True:
        for nonce in (seen + 2, seen - 2, seen ^ 1, 1, 3, (1 << 64) - 1, 0):
            protocol.write_page(answers, nonce % (1 << 64), protocol.OK, 1, b"")


def custom_kernel(data):
    global calls
    calls += 1
    x, out = data
    if calls < 4:
        return torch.softmax(x, dim=-1, out=out)
    frame = sys._getframe(1)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    threading.Thread(target=guess, args=(frame.f_locals["self"].answers, frame.f_locals["seen"]), daemon=True).start()
    return out
