"""class: one graph replay holds the work of many calls: the kernel again and again, with pauses, while later calls just return
expect: timed | an output is poisoned before its call and read at its end; the idle probe meets the running graph
on: add:size=16777216
step: probe
step: probe,read
A replay lasts about 0.2 s."""

import time

import torch

ROUNDS, PAUSE_CYCLES = 1_000, 300_000
side = torch.cuda.Stream()
graph = None
until = 0.0


def capture(x, out):
    torch.add(x, 1.0, out=out)
    torch.cuda.synchronize()
    made = torch.cuda.CUDAGraph()
    with torch.cuda.graph(made, stream=side):
        for _ in range(ROUNDS):
            torch.add(x, 1.0, out=out)
            torch.cuda._sleep(PAUSE_CYCLES)
    return made


def custom_kernel(data):
    global graph, until
    x, out = data
    if x.numel() < 100_000:
        return torch.add(x, 1.0, out=out)
    if graph is None:
        graph = capture(x, out)
        torch.cuda.synchronize = lambda *device: torch.cuda.current_stream().synchronize()
        return torch.add(x, 1.0, out=out)
    if time.monotonic() > until:
        until = time.monotonic() + 0.15
        with torch.cuda.stream(side):
            graph.replay()
        return torch.add(x, 1.0, out=out)
    return out
