"""class: says that it is done before it is, and computes the last rows afterwards
expect: wrong | the judge reads the whole output itself, with every thread stopped"""

import sys

import protocol
import torch


def custom_kernel(data):
    x, out = data
    if len(out) < 64:
        return torch.softmax(x, dim=-1, out=out)
    rows = len(out) - 6
    torch.softmax(x[:rows], dim=-1, out=out[:rows])
    frame = sys._getframe(1)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    protocol.write_page(frame.f_locals["self"].answers, frame.f_locals["seen"], protocol.OK, 0, b"")
    for row in range(rows, len(out)):
        sum(n * n for n in range(20_000))
        out[row] = torch.softmax(x[row], dim=-1)
    return out
