"""class: rewrites the harness from inside: its slots, its keeping and its clock, so that nothing needs to be written
expect: wrong | the harness is part of the submission as far as the judge is concerned"""

import sys

import torch


def custom_kernel(data):
    x, out = data
    frame = sys._getframe(1)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    harness = frame.f_locals["self"]
    harness.timer.time = lambda work, nonce: work() or 1
    if x.numel() > 1_000:
        harness.tensors = [tensor.clone() for tensor in harness.tensors]
        sys.modules["slots"].keep = lambda node, tensors, returned: None
        return torch.softmax(x, dim=-1)
    return torch.softmax(x, dim=-1, out=out)
