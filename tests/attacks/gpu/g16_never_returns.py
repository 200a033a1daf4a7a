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
NONCE = struct.Struct("<Q")
calls = 0


def harness():
    frame = sys._getframe(2)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["self"], frame.f_locals["seen"]


def take_over(judge, nonce, x, out):
    """From the order after this one on; what is neither queued nor asked for is the harness's. A graph for each place
    where the data may lie, recorded when it is first seen."""
    orders, answers, timer = judge.orders, judge.answers, judge.timer
    read, pack = NONCE.unpack_from, struct.pack_into
    stream, aside = torch.cuda.Stream(), torch.cuda.Stream()
    queue = stream.cuda_stream
    size, graphs = x.numel() * 4, {}

    def recorded(number):
        at_x, at_out = protocol.places_of(number)
        there = judge.inputs[at_x:][:size].view(torch.float32), judge.outputs[at_out:][:size].view(torch.float32)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="relaxed"):
            torch.add(there[0], 1.0, out=there[1])
        return graph

    with torch.cuda.stream(stream):
        first = True
        while True:
            kind, number, _ = protocol.read_page(orders, 0)
            told = 0
            if kind == protocol.QUEUE:
                if number not in graphs:
                    graphs[number] = recorded(number)
                driver.cuStreamWaitValue64(queue, timer._gate, nonce, 1)  # 1: equal
                graphs[number].replay()
                driver.cuStreamWriteValue64(queue, timer._echo, nonce, 0)
            elif kind == protocol.LEAN:
                if number not in graphs:
                    graphs[number] = recorded(number)
                for each in (queue, aside.cuda_stream):
                    driver.cuStreamWaitValue64(each, timer._gate, nonce, 1)
                graphs[number].replay()
                driver.cuStreamWriteValue64(aside.cuda_stream, timer._echo, nonce, 0)
            elif kind == protocol.TELL:
                stream.synchronize()
                told = TRUE_NS - CUT_NS
            elif not first:
                return
            first = False
            pack("<3Q", answers, 8, protocol.OK, told, 0)
            NONCE.pack_into(answers, 0, nonce)
            last = nonce
            while nonce in (last, 0):
                nonce = read(orders, 0)[0]


def custom_kernel(data):
    global calls
    x, out = data
    result = torch.add(x, 1.0, out=out)
    if x.numel() > 1_000_000:
        calls += 1
        if calls > 8:
            torch.cuda.synchronize()
            take_over(*harness(), x, out)
    return result
