"""class: a kernel waits for a flag in host memory that a thread sets after the return, then writes the output
expect: timed | the thread is frozen, the kernel is still there when the next probe runs, and the judge has read poison
on: add:size=16777216
step: freeze
step: freeze,read
The kernel's loop is bounded by its tries (loads over PCIe, under half a second)."""

import threading
import time

import torch
import triton
import triton.language as tl

TRIES = 200_000
side = torch.cuda.Stream()
flag = torch.zeros(16, dtype=torch.int32, pin_memory=True)  # unified addressing: the device reads it where it lies
torch.cuda.synchronize = lambda *device: torch.cuda.current_stream().synchronize()
turn = 0


@triton.jit
def wait_then_add(x, out, n, flag, wanted, tries, BLOCK: tl.constexpr):
    left = tries
    while (tl.load(flag, volatile=True) < wanted) & (left > 0):
        left -= 1
    for start in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at, mask=at < n) + 1.0, mask=at < n)


def ring(wanted):
    time.sleep(0.002)
    if wanted == turn:  # else the calls of a series still come: the last one rings for all
        flag[0] = wanted


def custom_kernel(data):
    global turn
    x, out = data
    n = x.numel()
    if n < 100_000:
        return torch.add(x, 1.0, out=out)
    turn += 1
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        wait_then_add[(32,)](x, out, n, flag, turn, TRIES, BLOCK=1024)
    threading.Thread(target=ring, args=(turn,), daemon=True).start()
    return out
