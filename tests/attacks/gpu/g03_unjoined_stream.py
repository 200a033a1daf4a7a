"""class: the work is on a stream that nothing joins, and waiting for the device is patched away: done is said at once
expect: rejected | the judge's own copy of the output decides, and an output that changes afterwards is a violation
on: add:size=16777216
step: read
Two milliseconds of spinning go before the work, so that it is surely late."""

import torch

side = torch.cuda.Stream()
torch.cuda.synchronize = lambda *device: torch.cuda.current_stream().synchronize()


def custom_kernel(data):
    x, out = data
    if x.numel() < 1_000_000:
        return torch.add(x, 1.0, out=out)
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        torch.cuda._sleep(4_000_000)  # cycles
        torch.add(x, 1.0, out=out)
    return out
