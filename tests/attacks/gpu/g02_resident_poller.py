"""class: a kernel that stays resident between calls, polls the last input word and computes as soon as it changes
expect: timed | the idle probe takes far too long, withheld words are poison, and the wall clock runs since before the copy
on: add:size=16777216
step: probe
step: probe,withhold
The loop is bounded by its tries (under half a second)."""

import torch
import triton
import triton.language as tl

TRIES = 400_000  # of an uncached load each, under 1 µs
side = torch.cuda.Stream()
resident = False


@triton.jit
def poll_then_add(words, x, out, n, old, tries, BLOCK: tl.constexpr):
    left = tries
    seen = tl.load(words + n - 1, volatile=True)
    while (seen == old) & (left > 0):
        seen = tl.load(words + n - 1, volatile=True)
        left -= 1
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n, volatile=True) + 1.0, mask=at < n)


def custom_kernel(data):
    global resident
    x, out = data
    n = x.numel()
    if n < 100_000:
        return torch.add(x, 1.0, out=out)
    if resident:
        side.synchronize()
    else:
        torch.add(x, 1.0, out=out)
        torch.cuda.synchronize()
        torch.cuda.synchronize = lambda *device: torch.cuda.current_stream().synchronize()
        resident = True
    old = int(x.view(torch.int32)[-1].item())
    with torch.cuda.stream(side):
        poll_then_add[(132,)](x.view(torch.int32), x, out, n, old, TRIES, BLOCK=1024)
    return out
