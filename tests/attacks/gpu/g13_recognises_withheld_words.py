"""class: armed like g01, but finds the withheld words by their common value, leaves them out, and mends only those in the call
expect: timed | what ran before the order is not in the events but in the judge's wall clock: clock_mismatch, or raised
on: add:size=16777216
step: early
Data lie now here, now there: what is armed elsewhere is let go, and the new place is armed. It shows what one poison value for all withheld words gives away; with values taken from other
places of the input there is nothing to recognise, and the answers are wrong."""

import time

import torch
import triton
import triton.language as tl
from cuda.bindings import driver

AND = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_AND
side = torch.cuda.Stream()
places = torch.zeros(1 << 18, dtype=torch.int32, device="cuda")
count = torch.zeros(1, dtype=torch.int32, device="cuda")
armed = None  # the last word that is waited for
PATIENCE_S = 0.002  # of waiting for what was armed


@triton.jit
def add_and_note(words, x, out, n, poison, places, count, room, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(words + at, mask=at < n, other=0)
    missing = (word == tl.load(poison)) & (at < n)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0) + 1.0, mask=at < n)
    slot = tl.atomic_add(count + tl.zeros_like(at), 1, mask=missing)
    tl.store(places + slot, at, mask=missing & (slot < room))


@triton.jit
def mend(x, out, places, count, BLOCK: tl.constexpr):
    slot = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    known = slot < tl.load(count)
    at = tl.load(places + slot, mask=known, other=0)
    tl.store(out + at, tl.load(x + at, mask=known, other=0.0) + 1.0, mask=known)


def arm(x, out):
    old = int(x.view(torch.int32)[-1].item()) & 0xFFFFFFFF
    driver.cuStreamWaitValue32(side.cuda_stream, x.data_ptr() + 4 * (x.numel() - 1), ~old & 0xFFFFFFFF, int(AND))
    search(x, out)


def load_flips(x):
    """What `disarm` needs, for a word of any alignment: a kernel that is loaded while something is armed waits for ever."""
    for word in x.view(torch.int32)[-4:].split(1):
        word.bitwise_not_()
        word.bitwise_not_()


def disarm():
    """The tenant may write its inputs itself, if it restores them; what was armed works in its old place."""
    armed.bitwise_not_()
    side.synchronize()
    armed.bitwise_not_()  # it may be part of data that lie there now


def search(x, out):
    words, n = x.view(torch.int32), x.numel()
    with torch.cuda.stream(side):
        count.zero_()
        sample = words[:: n // 4096][:4096]  # torch.mode would wait for the device
        often = (sample[:, None] == sample[None, :]).sum(1).argmax().reshape(1)
        poison = sample.gather(0, often)
        add_and_note[(triton.cdiv(n, 1024),)](words, x, out, n, poison, places, count, len(places), BLOCK=1024)


def custom_kernel(data):
    global armed
    x, out = data
    if x.numel() < 1_000_000:
        return torch.add(x, 1.0, out=out)
    last = x.view(torch.int32)[-1:]
    if armed is not None and armed.data_ptr() == last.data_ptr():
        until = time.perf_counter() + PATIENCE_S
        while not side.query():
            if time.perf_counter() > until:  # the last word is what it was: this input came before
                return torch.add(x, 1.0, out=out)
        mend[(len(places) // 1024,)](x, out, places, count, BLOCK=1024)
    elif armed is None:
        search(x, out)
        # All kernels must be loaded now: that waits for the device, and so would wait for ever once it is armed.
        torch.cuda.synchronize()
        mend[(len(places) // 1024,)](x, out, places, count, BLOCK=1024)
        load_flips(x)
        torch.add(x, 1.0, out=out)
        torch.cuda.synchronize()
        torch.cuda.synchronize = lambda *device: torch.cuda.current_stream().synchronize()
    else:
        disarm()
        torch.add(x, 1.0, out=out)
    torch.cuda.current_stream().synchronize()
    armed = last
    arm(x, out)
    return out
