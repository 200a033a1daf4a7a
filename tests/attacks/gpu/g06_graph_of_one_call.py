"""class: control: an honest kernel captured once as a CUDA graph over the arena's addresses and replayed in each call
expect: accepted | every replay does the whole work of its call: this is tuning, and must not be taken for replayed results
on: add:size=524288
Not yet seen on a device."""

import torch

graphs = {}


def captured(x, out):
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.add(x, 1.0, out=out)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.add(x, 1.0, out=out)
    return graph


def custom_kernel(data):
    x, out = data
    key = (x.data_ptr(), out.data_ptr(), x.numel())
    if key not in graphs:
        graphs[key] = captured(x, out)
    graphs[key].replay()
    return out
