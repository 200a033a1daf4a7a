#!PHOTOFINISH leaderboard vectoradd
#!PHOTOFINISH gpu cpu
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    x, y, out = data
    # Your turn: write x + y into out.
    torch.add(x, y, out=out)
    return out
