"""class: takes over from the harness: answers orders itself, a recorded graph behind the gate, less told than it took
expect: timed | the device waits, works and echoes by itself, so that there is no host code to be spared
on: add:size=16777216
least_us: 31
CUT_NS is taken off the told time; the largest that is not seen is what a lean tenant can forge. Vary it by hand."""

import struct
import sys

import protocol
import torch
from cuda.bindings import driver

CUT_NS = 10_000
TRUE_NS = 39_000
HONEST_CALLS = 8
NONCE = struct.Struct("<Q")
calls = 0


def harness():
    frame = sys._getframe(2)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["self"]


def take_over(judge, nonce):
    """From this order on; what is neither queued nor asked for is the harness's. A graph for each place where the data
    may lie, recorded when it is first seen."""
    orders, answers, timer = judge.orders, judge.answers, judge.timer
    read, pack = NONCE.unpack_from, struct.pack_into
    stream, aside = torch.cuda.Stream(), torch.cuda.Stream()
    queue = stream.cuda_stream
    size, graphs = judge.data[0].numel() * 4, {}
    timer.begun.clear()  # the harness's calls of this series are told here, too

    def recorded(number):
        at_x, at_out = protocol.places_of(number)
        there = judge.inputs[at_x:][:size].view(torch.float32), judge.outputs[at_out:][:size].view(torch.float32)
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin(capture_error_mode="relaxed")
        torch.add(there[0], 1.0, out=there[1])
        graph.capture_end()
        return graph

    with torch.cuda.stream(stream):
        while True:
            kind, number, _ = protocol.read_page(orders, 0)
            told = 0
            if kind == protocol.QUEUE:
                if number not in graphs:
                    graphs[number] = recorded(number)
                driver.cuStreamWaitValue64(queue, timer._gate, nonce, 0)  # 0: at least
                graphs[number].replay()
                driver.cuStreamWriteValue64(queue, timer._echo, nonce, 0)
            elif kind == protocol.LEAN:
                if number not in graphs:
                    graphs[number] = recorded(number)
                for each in (queue, aside.cuda_stream):
                    driver.cuStreamWaitValue64(each, timer._gate, nonce, 0)
                graphs[number].replay()
                driver.cuStreamWriteValue64(aside.cuda_stream, timer._echo, nonce, 0)
            elif kind == protocol.TELL:
                stream.synchronize()
                told = TRUE_NS - CUT_NS
            else:
                return
            pack("<3Q", answers, 8, protocol.OK, told, 0)
            NONCE.pack_into(answers, 0, nonce)
            last = nonce
            while nonce in (last, 0):
                nonce = read(orders, 0)[0]


def tamper(judge):
    timer = judge.timer
    honest_begin, honest_begin_lean = timer.begin, timer.begin_lean

    def begin(work, nonce, *, behind_gate):
        if not behind_gate or judge.data[0].numel() <= 1_000_000:
            return honest_begin(work, nonce, behind_gate=behind_gate)
        take_over(judge, nonce)

    def begin_lean(work, nonce):
        if judge.data[0].numel() <= 1_000_000:
            return honest_begin_lean(work, nonce)
        take_over(judge, nonce)

    timer.begin, timer.begin_lean = begin, begin_lean


def custom_kernel(data):
    global calls
    x, out = data
    if x.numel() > 1_000_000:
        calls += 1
        if calls == HONEST_CALLS:
            tamper(harness())
    return torch.add(x, 1.0, out=out)
