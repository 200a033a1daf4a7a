#!PHOTOFINISH leaderboard matmul
import torch
from task import input_t, output_t


def custom_kernel(data: input_t) -> output_t:
    a, b, out = data
    # Your turn: write the matrix product of a and b into out.
    torch.mm(a, b, out=out)
    return out
