"""class: the result is brought by a copy engine from pinned host memory after the return, which occupies no multiprocessor
expect: rejected | the whole output is read by a kernel of the judge before the clock stops
on: add:size=16777216
step: read
The copy of 64 MB over PCIe takes over a millisecond."""

import torch

side = torch.cuda.Stream()
host = torch.empty(16_777_216, dtype=torch.float32, pin_memory=True)
torch.cuda.synchronize = lambda *device: torch.cuda.current_stream().synchronize()


def custom_kernel(data):
    x, out = data
    n = x.numel()
    if n < 1_000_000:
        return torch.add(x, 1.0, out=out)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        host[:n].copy_(x + 1.0, non_blocking=True)
        out.copy_(host[:n], non_blocking=True)
    return out
