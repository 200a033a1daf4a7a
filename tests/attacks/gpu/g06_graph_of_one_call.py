"""class: control: an honest kernel captured as a CUDA graph for each place that its data take, and replayed in each call
expect: accepted | every replay does the whole work of its call: this is tuning, and must not be taken for replayed results
on: add:size=524288
Calls that capture are late at the gate; they must not send all others the way that is not queued."""

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
