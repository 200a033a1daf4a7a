"""class: a thread scribbles statuses, lengths and text over the answers page while the judge reads it
expect: useless | every word is read once and bounded; a status that does not belong to the order breaks the rules; where
none was read at the wrong moment, the outputs are right as they are"""

import sys
import threading

import torch

calls = 0


def scribble(answers):
    junk = b"\xff" * 56 + b"\x1b[2J\xe2\x80\xae" * 2_000
    while True:
        answers[8 : 8 + len(junk)] = junk


def custom_kernel(data):
    global calls
    calls += 1
    x, out = data
    torch.softmax(x, dim=-1, out=out)
    if calls == 4:
        frame = sys._getframe(1)
        while "self" not in frame.f_locals or "seen" not in frame.f_locals:
            frame = frame.f_back
        for _ in range(4):
            threading.Thread(target=scribble, args=(frame.f_locals["self"].answers,), daemon=True).start()
    return out
