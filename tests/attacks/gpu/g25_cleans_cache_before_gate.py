"""class: reads 512 MB of its own before a lean call's gate: the judge's put finds a cache without modified lines to write back
expect: timed | the judge's copying and its sweep fill the cache again before the gate opens
on: add:size=16777216
least_us: 36
Before the clock starts the judge's device has poisoned the output and staged the inputs; tens of megabytes of that lie
modified in L2, and the put, inside the clock, pays for writing them back. A tenant has 100 ms for handing out its work:
it waits until the judge's device has staged, drives those lines out, and only then hands out its kernel. Its events do
not see that. In a series only the first call's inputs are staged by then: one late call makes each series a single call.
CUT_NS is taken off what they tell. WAY "write" leaves as many modified lines of its own, for a control."""

import sys
import time

import torch

CUT_NS = 6_000
WAY = "read"  # or "write", "none"
STAGED_S = 0.004  # after the order; the judge hands over its own work within about 1 ms
LATE_S = 0.12  # longer than the judge waits for a call's work
own = torch.zeros(128 << 20, dtype=torch.float32, device="cuda")  # ten times the cache
total = torch.zeros((), device="cuda")
torch.sum(own, dim=0, out=total)
torch.cuda.synchronize()
tampered = False


def harness():
    frame = sys._getframe(2)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["self"]


def drive_out():
    time.sleep(STAGED_S)
    if WAY == "read":
        torch.sum(own, dim=0, out=total)
    elif WAY == "write":
        own.zero_()
    torch.cuda.current_stream().synchronize()


def tamper(judge):
    timer = judge.timer
    honest_begin, honest_begin_lean, honest_told = timer.begin, timer.begin_lean, timer.told

    def begin(work, nonce, *, behind_gate):
        if timer.begun:  # in the first series: a late call is the end of series in this case
            time.sleep(LATE_S)
        honest_begin(work, nonce, behind_gate=behind_gate)

    def begin_lean(work, nonce):
        if not timer.begun:
            drive_out()
        honest_begin_lean(work, nonce)

    def told():
        told_ns = honest_told()
        return max(told_ns - CUT_NS, 1_000) if told_ns else 0  # a lean call tells nothing

    timer.begin, timer.begin_lean, timer.told = begin, begin_lean, told


def custom_kernel(data):
    global tampered
    x, out = data
    if x.numel() > 1_000_000 and not tampered:
        tampered = True
        tamper(harness())
    return torch.add(x, 1.0, out=out)
