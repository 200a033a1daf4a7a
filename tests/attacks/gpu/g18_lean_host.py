"""class: takes over from the harness where calls are not queued: compiled code that spins on the order launches a recorded graph
expect: timed | what a host spares between the order and the kernel is part of what is said to be forgeable
on: add:size=16777216
least_us: 10
The first calls wait for their device, so that the case goes the way that is not queued. CUT_NS is taken off the told
time: the largest that is not seen is what can be forged. Vary it by hand (benchmarks/gpu/spared.py)."""

import sys

import protocol
import torch
from torch.utils.cpp_extension import load_inline

CUT_NS = 36_000
TRUE_NS = 40_400
HONEST_CALLS = 24  # more than a block's, so that the way is settled

SERVE = r"""
#include <dlfcn.h>
#include <pybind11/pybind11.h>
#include <cstdint>
typedef int (*launch_t)(void*, void*);
typedef int (*write_t)(void*, uint64_t, uint64_t, unsigned);
typedef int (*wait_t)(void*);
void serve(py::buffer orders, py::buffer answers, uint64_t exec, uint64_t stream, uint64_t echo, uint64_t nonce,
           uint64_t call, uint64_t told) {
  void* cuda = dlopen("libcuda.so.1", RTLD_NOW);
  launch_t launch = (launch_t)dlsym(cuda, "cuGraphLaunch");
  write_t write = (write_t)dlsym(cuda, "cuStreamWriteValue64_v2");
  wait_t wait = (wait_t)dlsym(cuda, "cuStreamSynchronize");
  volatile uint64_t* order = (volatile uint64_t*)orders.request().ptr;
  py::buffer_info shared = answers.request();
  volatile uint64_t* answer = (volatile uint64_t*)shared.ptr;
  for (;;) {
    answer[1] = 0; answer[2] = told; answer[3] = 0;
    __sync_synchronize();
    answer[0] = nonce;
    uint64_t last = nonce;
    while ((nonce = order[0]) == last || nonce == 0) {}
    if (order[1] != call) return;
    launch((void*)exec, (void*)stream);
    write((void*)stream, echo, nonce, 0);
    wait((void*)stream);
  }
}
"""
# Built when it is imported: a call has less time.
serve = load_inline("lean_host", SERVE, functions=["serve"], extra_ldflags=["-ldl"]).serve
calls = 0


def harness():
    frame = sys._getframe(2)
    while "self" not in frame.f_locals or "seen" not in frame.f_locals:
        frame = frame.f_back
    return frame.f_locals["self"], frame.f_locals["seen"]


def take_over(judge, nonce, x, out):
    """From this order on; what is no plain call is the harness's."""
    if protocol.read_page(judge.orders, 0)[0] != protocol.CALL:
        return
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph(keep_graph=True)
    with torch.cuda.graph(graph, stream=stream):
        torch.add(x, 1.0, out=out)
    graph.instantiate()
    graph.replay()
    torch.cuda.synchronize()
    executable, echo = graph.raw_cuda_graph_exec(), judge.timer._echo
    serve(judge.orders, judge.answers, executable, stream.cuda_stream, echo, nonce, protocol.CALL, TRUE_NS - CUT_NS)


def custom_kernel(data):
    global calls
    x, out = data
    result = torch.add(x, 1.0, out=out)
    if x.numel() > 1_000_000:
        torch.cuda.synchronize()
        calls += 1
        if calls > HONEST_CALLS:
            take_over(*harness(), x, out)
    return result
