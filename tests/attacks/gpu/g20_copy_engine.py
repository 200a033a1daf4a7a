"""class: takes over from the harness: a copy beside the cores, no kernel at all, less told than it took
expect: timed | on an H200 the gap of such a copy is as long as a kernel's (-1.8 µs with nothing cut)
on: copy:words=16777216
least_us: 31
A device that need not turn to a tenant's kernels might spare a part of the gap. CUT_NS is taken off what its own events
tell. Vary it by hand."""

import struct
import sys

import protocol
import torch
from cuda.bindings import driver

CUT_NS = 30_000
HONEST_CALLS = 8
NONCE = struct.Struct("<Q")
calls = 0


def harness():
    frame = sys._getframe(2)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["self"]


def engine():
    attributes = driver.CUmemcpyAttributes()
    attributes.srcAccessOrder = driver.CUmemcpySrcAccessOrder.CU_MEMCPY_SRC_ACCESS_ORDER_STREAM
    attributes.flags = driver.CUmemcpyFlags.CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE
    return attributes


def take_over(judge, nonce):
    """From this order on; what is neither queued nor asked for is the harness's."""
    orders, answers, timer = judge.orders, judge.answers, judge.timer
    read, pack = NONCE.unpack_from, struct.pack_into
    stream, aside = torch.cuda.Stream(), torch.cuda.Stream()
    queue, attributes, size = stream.cuda_stream, engine(), judge.data[0].nbytes
    while True:
        kind, number, _ = protocol.read_page(orders, 0)
        told = 0
        if kind in (protocol.QUEUE, protocol.LEAN):
            source, target = (
                driver.CUdeviceptr(region.data_ptr() + at)
                for region, at in zip((judge.inputs, judge.outputs), protocol.places_of(number), strict=True)
            )
            driver.cuStreamWaitValue64(queue, timer._gate, nonce, 0)  # 0: at least
            began, ended = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            began.record(stream)
            (error,) = driver.cuMemcpyBatchAsync([target], [source], [size], 1, [attributes], [0], 1, queue)
            assert error == driver.CUresult.CUDA_SUCCESS, error
            ended.record(stream)
            if kind == protocol.LEAN:
                driver.cuStreamWaitValue64(aside.cuda_stream, timer._gate, nonce, 0)
            echoing = aside.cuda_stream if kind == protocol.LEAN else queue
            driver.cuStreamWriteValue64(echoing, timer._echo, nonce, 0)
            timer.begun.append((began, ended))
        elif kind == protocol.TELL:  # of the harness's calls of this series, too
            told = max(timer.told() - CUT_NS, 1_000)
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
    x, out, rounds = data
    if x.numel() > 1_000_000:
        calls += 1
        if calls == HONEST_CALLS:
            tamper(harness())
    return out.copy_(x)
