"""class: the first event is recorded again just before the last one: real events, a true difference, of nothing
expect: rejected | events are raised to what the judge's wall clock vouches for, and a mismatch this large is a violation
on: add:size=16777216
Forged numbers instead of moved events: benchmarks/gpu/submissions/add_forged_events.py."""

import torch

real = torch.cuda.Event.record
pending = []


def record(event, *stream):
    if pending:
        real(pending.pop(), *stream)
        return real(event, *stream)
    pending.append(event)
    return real(event, *stream)


torch.cuda.Event.record = record


def custom_kernel(data):
    x, out = data
    return torch.add(x, 1.0, out=out)
