"""class: a recorded graph works behind the gate while a second stream echoes at once; tells less
expect: timed | an early echo spares a few microseconds of the way to the read, and they are part of what is said to be forgeable
on: add:size=16777216
least_us: 31
CUT_NS is taken off the time that its first calls told. Vary it by hand (benchmarks/gpu/spared.py)."""

import sys

import torch
from cuda.bindings import driver

CUT_NS = 10_000
HONEST_CALLS = 8
seen_ns = []
tampered = False
OWN = "own"  # in place of the events of a call that has none


def harness():
    frame = sys._getframe(2)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["self"]


def tamper(judge):
    timer = judge.timer
    honest_begin, honest_told = timer.begin, timer.told
    stream, aside, graphs = torch.cuda.Stream(), torch.cuda.Stream(), {}

    def begin(work, nonce, *, behind_gate):
        if not behind_gate or len(seen_ns) < HONEST_CALLS:
            return honest_begin(work, nonce, behind_gate=behind_gate)
        begin_lean(work, nonce)

    def begin_lean(work, nonce):
        x, out = judge.data
        graph = graphs.get(judge._number)
        if graph is None:
            graph = graphs[judge._number] = torch.cuda.CUDAGraph()
            with torch.cuda.stream(stream):
                graph.capture_begin(capture_error_mode="relaxed")
                torch.add(x, 1.0, out=out)
                graph.capture_end()
        for each in (stream, aside):
            driver.cuStreamWaitValue64(each.cuda_stream, timer._gate, nonce, 0)  # 0: at least
        with torch.cuda.stream(stream):
            graph.replay()
        driver.cuStreamWriteValue64(aside.cuda_stream, timer._echo, nonce, 0)
        timer.begun.append(OWN)

    def told():
        if timer.begun[0] == OWN:
            timer.begun.popleft()
            torch.cuda.synchronize()
            return max(sorted(seen_ns)[len(seen_ns) // 2] - CUT_NS, 1_000)
        seen_ns.append(honest_told())
        return seen_ns[-1]

    timer.begin, timer.begin_lean, timer.told = begin, begin_lean, told


def custom_kernel(data):
    global tampered
    x, out = data
    if x.numel() > 1_000_000 and not tampered:
        tampered = True
        tamper(harness())
    return torch.add(x, 1.0, out=out)
