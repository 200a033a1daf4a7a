"""class: a stream wait, armed before the call, starts the kernel when the inputs arrive: no thread runs, nothing is resident
expect: timed | withheld words are still poison when the kernel starts; the wall clock, started before the copy, sees its time
on: add:size=16777216
least_us: 36
step: withhold
step: withhold,early
Data lie now here, now there: what is armed elsewhere is let go by the attack itself, and the new place is armed. An input
that comes again changes no word: then it works on the spot, and what was armed stays so. Arming asks for a word, so that
its calls wait for their device: it costs more than it could gain, with or without the steps."""

import time

import torch
from cuda.bindings import driver

AND = driver.CUstreamWaitValue_flags.CU_STREAM_WAIT_VALUE_AND
side = torch.cuda.Stream()
armed = None  # the last word that is waited for
PATIENCE_S = 0.002  # of waiting for what was armed


def arm(x, out):
    """Wait until the last word gets a bit that it has not now; random words nearly always do."""
    old = int(x.view(torch.int32)[-1].item()) & 0xFFFFFFFF
    driver.cuStreamWaitValue32(side.cuda_stream, x.data_ptr() + 4 * (x.numel() - 1), ~old & 0xFFFFFFFF, int(AND))
    with torch.cuda.stream(side):
        torch.add(x, 1.0, out=out)


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
    elif armed is None:
        load_flips(x)
        torch.add(x, 1.0, out=out)
        torch.cuda.synchronize()
        torch.cuda.synchronize = lambda *device: torch.cuda.current_stream().synchronize()
    else:
        disarm()
        torch.add(x, 1.0, out=out)
    armed = last
    arm(x, out)
    return out
