import torch

aside = torch.cuda.Stream()


def custom_kernel(data):
    x, out = data
    half = x.numel() // 2
    aside.wait_stream(torch.cuda.current_stream())
    torch.add(x[:half], 1.0, out=out[:half])
    with torch.cuda.stream(aside):
        torch.add(x[half:], 1.0, out=out[half:])
    torch.cuda.current_stream().wait_stream(aside)
    return out
